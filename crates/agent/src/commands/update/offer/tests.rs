//! Tests of `offer`.

use super::*;

fn file(name: &str, platform: &str) -> File {
    File {
        name: name.to_owned(),
        platform: platform.to_owned(),
        url: String::new(),
        bytes: 1,
        sha256: "0".repeat(64),
        media_type: "application/octet-stream".to_owned(),
    }
}

fn chosen(files: &[(&str, &str)]) -> Result<Option<String>, ()> {
    let files: Vec<File> = files.iter().map(|(name, on)| file(name, on)).collect();
    let found = for_this_machine(&files).map_err(drop)?;
    Ok(found.map(|file| file.name.clone()))
}

#[test]
fn program_of_this_platform_is_selected() {
    let here = platform();
    let here = here.as_str();
    assert_eq!(chosen(&[("agent-a", "plan9-mips"), ("agent-b", here)]), Ok(Some("agent-b".into())));
    assert_eq!(chosen(&[("agent-b", OS), ("agent-c", "any")]), Ok(Some("agent-b".into())));
    assert_eq!(chosen(&[("agent-b", OS), ("agent-c", here)]), Ok(Some("agent-c".into())));
    assert_eq!(chosen(&[("agent.tar.gz", here), ("agent.sha256", here), ("x", here)]), Ok(None));
    let like = if cfg!(target_env = "musl") { "agent-musl" } else { "agent-gnu" };
    assert_eq!(chosen(&[("agent-gnu", here), ("agent-musl", here)]), Ok(Some(like.into())));
    assert_eq!(chosen(&[("agent-a", here), ("agent-b", here)]), Err(()));
}
