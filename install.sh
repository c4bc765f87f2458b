#!/bin/sh
# Installs agent from a download folder, without root.
#
#   curl -fsSLO https://ai.example.com/install.sh        # read it before you run it
#   sh install.sh --base https://ai.example.com/v1/downloads
#
# The folder is one that `agent gateway downloads publish` wrote: `/v1/downloads` of a member service,
# or the same files on any web server. The SHA-256 sum detects damaged files. It does not prove who made
# them: use an https address that you trust. `agent update` verifies signatures from then on.
set -eu

usage() {
    cat <<'USAGE'
Install agent

Usage: sh install.sh --base URL [--version VERSION] [--prefix DIR]

Options:
  --base URL          Download folder [env: AGENT_DOWNLOAD_URL]
  --version VERSION   Version to install [default: the newest of the folder]
  --prefix DIR        Install to DIR/bin and DIR/share [default: ~/.local]
  --help              Print help
USAGE
}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

usage_error() {
    echo "install.sh: $1" >&2
    usage >&2
    exit 2
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# download ADDRESS FILE
download() {
    echo "Downloading $1"
    if has curl; then
        curl -fsSL --proto '=http,https' --retry 2 -o "$2" "$1" || fail "cannot download $1"
    elif has wget; then
        wget -q -O "$2" "$1" || fail "cannot download $1"
    else
        fail "curl or wget is needed"
    fi
}

sha256() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "sha256sum or shasum is needed"
    fi
}

platform() {
    case "$(uname -m)" in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no artifact for the processor $(uname -m)" ;;
    esac
    case "$(uname -s)" in
        Linux) echo "$machine-unknown-linux-gnu" ;;
        Darwin) fail "there are no packages for macOS; build with: cargo build --profile dist --locked" ;;
        *) fail "there is no artifact for the system $(uname -s)" ;;
    esac
}

# install_file SOURCE FOLDER NAME MODE: the old file stays in place until the new one is complete.
install_file() {
    mkdir -p "$2" || fail "cannot create $2"
    { cp "$1" "$2/.$3.new" && chmod "$4" "$2/.$3.new" && mv -f "$2/.$3.new" "$2/$3"; } ||
        fail "cannot write $2/$3"
}

main() {
    base=${AGENT_DOWNLOAD_URL:-}
    version=
    prefix=
    while [ $# -gt 0 ]; do
        case "$1" in
            --help | -h)
                usage
                exit 0
                ;;
            --base | --version | --prefix)
                [ $# -ge 2 ] || usage_error "$1 needs a value"
                case "$1" in
                    --base) base=$2 ;;
                    --version) version=$2 ;;
                    --prefix) prefix=$2 ;;
                esac
                shift 2
                ;;
            *) usage_error "unknown option $1" ;;
        esac
    done
    [ -n "$base" ] || usage_error "--base is missing"
    base=${base%/}
    [ -n "$prefix" ] || prefix=${HOME:?is not set; use --prefix}/.local
    triple=$(platform) || exit 1

    work=$(mktemp -d) || fail "cannot create a temporary folder"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' HUP INT TERM

    if [ -z "$version" ]; then
        download "$base/manifest.json" "$work/manifest.json"
        # `version` is the only key of this name, and its value has no quotes or escapes.
        version=$(tr -d '\n' <"$work/manifest.json" |
            sed -n 's/.*"version"[[:space:]]*:[[:space:]]*"\([A-Za-z0-9._+-]*\)".*/\1/p')
        [ -n "$version" ] || fail "$base/manifest.json names no version"
    fi
    stem=agent-$version-$triple
    download "$base/$version/SHA256SUMS" "$work/SHA256SUMS"
    expected=$(awk -v name="$stem.tar.gz" '$2 == name { print $1 }' "$work/SHA256SUMS")
    [ -n "$expected" ] || fail "version $version has no artifact for $triple"
    download "$base/$version/$stem.tar.gz" "$work/agent.tar.gz"
    actual=$(sha256 "$work/agent.tar.gz") || exit 1
    [ "$actual" = "$expected" ] ||
        fail "$stem.tar.gz has the SHA-256 $actual instead of $expected; nothing was installed"
    echo "Verified SHA-256 $actual"
    tar -xzf "$work/agent.tar.gz" -C "$work" || fail "cannot unpack $stem.tar.gz"
    "$work/$stem/agent" --version >/dev/null ||
        fail "the program does not run on this system; nothing was installed"

    echo "Installing to $prefix"
    for page in "$work/$stem"/man/*.1; do
        install_file "$page" "$prefix/share/man/man1" "$(basename "$page")" 644
    done
    completions=$work/$stem/completions
    install_file "$completions/agent.bash" "$prefix/share/bash-completion/completions" agent 644
    install_file "$completions/agent.fish" "$prefix/share/fish/vendor_completions.d" agent.fish 644
    install_file "$completions/_agent" "$prefix/share/zsh/site-functions" _agent 644
    install_file "$work/$stem/agent" "$prefix/bin" agent 755
    echo "Installed $("$prefix/bin/agent" --version) to $prefix/bin/agent"
    case ":$PATH:" in
        *":$prefix/bin:"*) echo "Next: agent up" ;;
        *) echo "Next: add $prefix/bin to PATH, then run: agent up" ;;
    esac
}

# The last line starts the work, so that a truncated script does nothing.
main "$@"
