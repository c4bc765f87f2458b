//! Recovery of the request id from a malformed response.

use memchr::memmem;

/// The id of a malformed response; `None` for requests and notifications. Of a long text only both
/// ends are searched: servers write the id first or last.
pub(crate) fn response_id(text: &[u8]) -> Option<u64> {
    const END: usize = 1024;
    if text.len() <= 2 * END {
        return find_id(text);
    }
    find_id(&text[..END]).or_else(|| find_id(&text[text.len() - END..]))
}

fn find_id(text: &[u8]) -> Option<u64> {
    if memmem::find(text, b"\"method\"").is_some() {
        return None;
    }
    memmem::find_iter(text, b"\"id\"").find_map(|at| number_after(&text[at + 4..]))
}

fn number_after(rest: &[u8]) -> Option<u64> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..length]).ok()?.parse().ok()
}
