//! Every row of the resource tables, and the edges between them.

use super::*;

#[test]
fn operating_systems_map_by_name() {
    let rows = [
        ("darwin", OsFamily::Macos),
        ("Darwin", OsFamily::Macos),
        ("macos", OsFamily::Macos),
        ("linux", OsFamily::Linux),
        ("windows", OsFamily::Windows),
        (" Windows\n", OsFamily::Windows),
        ("freebsd", OsFamily::Unknown),
        ("unknown", OsFamily::Unknown),
        ("", OsFamily::Unknown),
    ];
    for (name, family) in rows {
        assert_eq!(os_family(name), family, "{name:?}");
    }
}

#[test]
fn architectures_map_by_every_spelling() {
    let rows = [
        ("amd64", Architecture::X86_64),
        ("x64", Architecture::X86_64),
        ("x86_64", Architecture::X86_64),
        ("x86-64", Architecture::X86_64),
        ("AMD64", Architecture::X86_64),
        ("aarch64", Architecture::Arm64),
        ("arm64", Architecture::Arm64),
        ("i386", Architecture::X86),
        ("i486", Architecture::X86),
        ("i586", Architecture::X86),
        ("i686", Architecture::X86),
        ("x86", Architecture::X86),
        ("armv6l", Architecture::Arm),
        ("armv7l", Architecture::Arm),
        ("armv", Architecture::Arm),
        ("arm", Architecture::Arm),
        ("arm-64", Architecture::Unknown),
        ("riscv64", Architecture::Unknown),
        ("i786", Architecture::Unknown),
        ("", Architecture::Unknown),
    ];
    for (name, expected) in rows {
        assert_eq!(architecture(name), expected, "{name:?}");
    }
}

#[test]
fn names_of_this_build_are_known() {
    assert_ne!(os_family(std::env::consts::OS), OsFamily::Unknown);
    assert_ne!(architecture(std::env::consts::ARCH), Architecture::Unknown);
}

#[test]
fn install_methods_are_the_listed_ones_and_nix() {
    assert_eq!(install_method("nix"), InstallMethod::Nixos);
    assert_eq!(install_method(" Home-Manager "), InstallMethod::HomeManager);
    for name in ["", "snap", "home_manager", "nixpkgs"] {
        assert_eq!(install_method(name), InstallMethod::Unknown, "{name:?}");
    }
    for method in InstallMethod::ALL {
        assert_eq!(install_method(method.text()), *method);
    }
}

#[test]
fn version_is_trimmed_and_limited_to_64_characters() {
    assert_eq!(version(" 1.2.3\n"), "1.2.3");
    assert_eq!(version(""), "unknown");
    assert_eq!(version(" \t"), "unknown");
    let longest = "v".repeat(64);
    assert_eq!(version(&format!(" {longest} ")), longest);
    assert_eq!(version(&"v".repeat(65)), "unknown");
}

#[test]
fn version_length_is_in_code_points() {
    let emoji = "🦀".repeat(64);
    assert_eq!(version(&emoji), emoji);
    assert_eq!(version(&"🦀".repeat(65)), "unknown");
    // 33 visible letters, but each is two code points.
    assert_eq!(version(&"e\u{301}".repeat(33)), "unknown");
}

fn at(path: &str) -> InstallMethod {
    let facts = InstallFacts { executable: Some(Path::new(path)), ..InstallFacts::default() };
    detect_install_method(&facts)
}

fn in_container_at(path: &str) -> InstallMethod {
    let executable = Some(Path::new(path));
    detect_install_method(&InstallFacts { executable, in_container: true, declared: None })
}

#[test]
fn executable_path_determines_the_install_method() {
    let rows = [
        ("/nix/store/abc-agent-1.0/bin/agent", InstallMethod::Nixos),
        ("/run/current-system/sw/bin/agent", InstallMethod::Nixos),
        ("/home/ann/.nix-profile/bin/agent", InstallMethod::HomeManager),
        ("/etc/profiles/per-user/ann/bin/agent", InstallMethod::HomeManager),
        ("/home/ann/.local/state/home-manager/gcroots/bin/agent", InstallMethod::HomeManager),
        ("/opt/homebrew/bin/agent", InstallMethod::Homebrew),
        ("/usr/local/Cellar/agent/1.0/bin/agent", InstallMethod::Homebrew),
        ("/home/linuxbrew/.linuxbrew/bin/agent", InstallMethod::Homebrew),
        ("/usr/lib/python3.12/site-packages/agent/agent", InstallMethod::Pip),
        ("/usr/local/lib/python3.12/dist-packages/agent/agent", InstallMethod::Pip),
        ("/home/ann/project/.venv/bin/agent", InstallMethod::Pip),
        ("/home/ann/project/venv/bin/agent", InstallMethod::Pip),
        ("/home/ann/project/.venv-3.12/bin/agent", InstallMethod::Pip),
        ("/home/ann/project/venv/Scripts/agent.exe", InstallMethod::Pip),
        ("/home/ann/.local/share/pipx/venvs/agent/bin/agent", InstallMethod::Pip),
        ("/home/ann/.virtualenvs/work/bin/agent", InstallMethod::Pip),
        ("/home/ann/agent/target/debug/agent", InstallMethod::Git),
        ("/home/ann/agent/target/release/agent", InstallMethod::Git),
        ("/home/ann/agent/target/debug/deps/it-0123", InstallMethod::Git),
        ("/home/ann/agent/target/aarch64-apple-darwin/release/agent", InstallMethod::Git),
        ("/usr/bin/agent", InstallMethod::Apt),
        ("/bin/agent", InstallMethod::Apt),
        ("/usr/sbin/agent", InstallMethod::Apt),
        ("/usr/lib/agent/agent", InstallMethod::Apt),
    ];
    for (path, method) in rows {
        assert_eq!(at(path), method, "{path}");
    }
}

#[test]
fn other_paths_are_unknown() {
    let paths = [
        "",
        "agent",
        "/usr/local/bin/agent",
        "/usr/binaries/agent",
        "/home/ann/.cargo/bin/agent",
        "/home/ann/target/agent",
        "/home/ann/release/agent",
        "/home/ann/target/a/b/release/agent",
        "/home/ann/target/release",
        "/home/ann/venv/agent",
        "/home/ann/venv/bin/tools/agent",
        "/opt/nix/store/agent",
        "/opt/homebrewed/agent",
        "/home/ann/site-packages",
    ];
    for path in paths {
        assert_eq!(at(path), InstallMethod::Unknown, "{path}");
    }
    assert_eq!(detect_install_method(&InstallFacts::default()), InstallMethod::Unknown);
}

#[test]
fn declared_install_method_precedes_unless_unknown() {
    let executable = Some(Path::new("/usr/bin/agent"));
    let declared = |declared| {
        detect_install_method(&InstallFacts { declared, executable, in_container: true })
    };
    assert_eq!(declared(Some("pip")), InstallMethod::Pip);
    assert_eq!(declared(Some(" NIX ")), InstallMethod::Nixos);
    for silent in [None, Some(""), Some("unknown"), Some("tarball")] {
        assert_eq!(declared(silent), InstallMethod::Docker, "{silent:?}");
    }
}

#[test]
fn container_precedes_only_system_directories() {
    assert_eq!(in_container_at("/usr/bin/agent"), InstallMethod::Docker);
    assert_eq!(in_container_at("/usr/lib/python3/dist-packages/agent"), InstallMethod::Docker);
    assert_eq!(in_container_at("/app/agent"), InstallMethod::Docker);
    assert_eq!(in_container_at(""), InstallMethod::Docker);
    assert_eq!(in_container_at("/app/.venv/bin/agent"), InstallMethod::Pip);
    assert_eq!(in_container_at("/src/target/debug/agent"), InstallMethod::Git);
    assert_eq!(in_container_at("/nix/store/abc-agent/bin/agent"), InstallMethod::Nixos);
}

#[test]
fn more_specific_path_decides() {
    let rows = [
        // A home-manager generation lies in the store.
        ("/nix/store/abc-home-manager-path/bin/agent", InstallMethod::HomeManager),
        ("/nix/store/abc-agent/lib/python3.12/site-packages/agent", InstallMethod::Nixos),
        // The sources of someone's home-manager setup are still sources.
        ("/home/ann/home-manager/target/debug/agent", InstallMethod::Git),
        ("/opt/homebrew/Cellar/agent/1/lib/site-packages/a/agent", InstallMethod::Homebrew),
        ("/opt/homebrew/lib/python3.12/site-packages/a/agent", InstallMethod::Pip),
        // Debian's own Python packages.
        ("/usr/lib/python3/dist-packages/agent/agent", InstallMethod::Apt),
    ];
    for (path, method) in rows {
        assert_eq!(at(path), method, "{path}");
    }
}

#[test]
fn non_unicode_path_is_classified() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let executable = Path::new(OsStr::from_bytes(b"/home/\xff/\xfe/target/debug/agent"));
    let facts = InstallFacts { executable: Some(executable), ..InstallFacts::default() };
    assert_eq!(detect_install_method(&facts), InstallMethod::Git);
}
