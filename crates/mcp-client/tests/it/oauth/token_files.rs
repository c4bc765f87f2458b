//! The files of tokens: damaged, gone, on a disk that fails, changed by others, dated by another
//! clock.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agent_test_support::disk::SmallDisk;
use agent_test_support::oauth::{FaultyAuthServer, Refresh, Script};
use mcp_client::Error;
use mcp_client::error::ErrorKind;
use serde_json::json;

use super::signed_in::{SignedIn, is_ready, needs_sign_in, now, until};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn an_unusable_token_file_requires_sign_in_and_is_kept() {
    let whole = json!({ "version": 1, "access_token": "kept-by-hand" }).to_string();
    for (text, why) in [
        (&whole[..whole.len() / 2], "is corrupt: invalid JSON"),
        ("", "is corrupt: invalid JSON"),
        ("[]", "is corrupt: a key is missing or invalid"),
        (r#"{"version": 1, "access_token": 5}"#, "is corrupt: a key is missing or invalid"),
        (r#"{"version": 2}"#, "was written by another version of this program"),
        (r#"{"version": "1"}"#, "was written by another version of this program"),
    ] {
        let machine = SignedIn::to_faulty(|_| {}).await;
        std::fs::write(machine.file(), text).unwrap();
        let error = machine.failed().await;
        assert!(matches!(error, Error::SignIn { .. }), "{text}: {error}");
        assert_eq!(machine.account().status().unreadable.as_deref(), Some(why), "{text}");
        let told = format!("{} {why}; sign in again", machine.file().display());
        assert!(machine.warnings().contains(&told), "{told}: {:?}", machine.warnings());
        assert_eq!(std::fs::read_to_string(machine.file()).unwrap(), text);
        machine.sign_in().await;
        machine.connect_unsupervised().await.unwrap().close().await;
        let aside = machine.folder.join("shared.json.bak");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
    }
}

#[tokio::test]
async fn a_folder_at_the_token_path_is_set_aside() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    std::fs::remove_file(machine.file()).unwrap();
    std::fs::create_dir(machine.file()).unwrap();
    assert!(matches!(machine.failed().await, Error::SignIn { .. }));
    let standing = machine.account().status();
    assert!(standing.unreadable.unwrap().starts_with("cannot be read: "));
    machine.sign_in().await;
    machine.connect_unsupervised().await.unwrap().close().await;
    assert!(machine.folder.join("shared.json.bak").is_dir());
}

#[tokio::test]
async fn a_world_readable_token_folder_is_made_private() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&machine.folder, open).unwrap();
    machine.expire_access_token();
    machine.connect_unsupervised().await.unwrap().close().await;
    assert_eq!(mode(&machine.folder), 0o700);
    for name in ["shared.json", "shared.client.json", "shared.meta.json", "shared.lock"] {
        assert_eq!(mode(&machine.folder.join(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_full_disk_keeps_the_old_token_unused() {
    let disk = SmallDisk::mount(256 * 1024);
    let mut machine = SignedIn::not_yet(FaultyAuthServer::start(Script::default()).unwrap());
    machine.folder = disk.path().join("mcp-tokens");
    machine.sign_in().await;
    machine.expire_access_token();
    let (before, asked) = (machine.tokens(), machine.asked());
    let ballast = disk.fill();
    let error = machine.failed().await;
    let said = error.to_string();
    assert!(said.contains("cannot write ") && said.contains("shared.json: "), "{error}");
    assert_eq!((error.kind(), machine.asked()), (ErrorKind::Transient, asked));
    assert_eq!(machine.tokens(), before);
    std::fs::remove_file(ballast).unwrap();
    machine.connect_unsupervised().await.unwrap().close().await;
    assert_ne!(machine.tokens()["refresh_token"], before["refresh_token"]);
}

#[tokio::test]
async fn a_read_only_disk_uses_a_valid_token_without_renewal() {
    let disk = SmallDisk::mount(256 * 1024);
    let mut machine = SignedIn::not_yet(FaultyAuthServer::start(Script::default()).unwrap());
    machine.folder = disk.path().join("mcp-tokens");
    machine.sign_in().await;
    machine.make_access_token_expire_soon();
    disk.make_read_only();
    let asked = machine.asked();
    machine.connect_unsupervised().await.unwrap().close().await;
    machine.server.expire_access_tokens();
    let error = machine.failed().await;
    assert!(error.to_string().contains("Read-only file system"), "{error}");
    assert_eq!((error.kind(), machine.asked()), (ErrorKind::Transient, asked));
    disk.make_writable();
    machine.connect_unsupervised().await.unwrap().close().await;
}

#[tokio::test]
async fn a_sign_in_of_another_process_is_detected() {
    let machine = SignedIn::not_yet(FaultyAuthServer::start(Script::default()).unwrap());
    let client = machine.client().await;
    assert!(needs_sign_in(&client.status()[0].state), "{}", client.status()[0].state);
    let began = std::time::Instant::now();
    machine.sign_in().await;
    until(&client, "ready", is_ready).await;
    assert!(began.elapsed().as_secs() < 10);
    machine.echo(&client).await;
    client.close().await;
}

#[tokio::test]
async fn logout_and_login_of_another_process_are_detected() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let client = machine.client().await;
    machine.echo(&client).await;
    let done = machine.account().logout().await.unwrap();
    assert!(done.had_tokens && done.revoked);
    let asked = machine.asked();
    // What is held is looked at now and then, and refused by the server at once.
    let error = machine.call(&client, "echo").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SignIn, "{error}");
    until(&client, "signed out", needs_sign_in).await;
    assert_eq!(machine.asked(), asked, "there was nothing left to renew with");
    machine.sign_in().await;
    until(&client, "ready", is_ready).await;
    client.close().await;
}

#[tokio::test]
async fn a_deleted_token_file_is_a_logout() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let client = machine.client().await;
    std::fs::remove_file(machine.file()).unwrap();
    machine.server.expire_access_tokens();
    let asked = machine.asked();
    machine.call(&client, "echo").await.unwrap_err();
    until(&client, "signed out", needs_sign_in).await;
    assert_eq!(machine.asked(), asked);
    assert!(!machine.file().exists());
    client.close().await;
}

#[tokio::test]
async fn a_seemingly_expired_token_is_renewed_or_used() {
    for (refresh, renewals) in [(Refresh::Rotating, 1), (Refresh::Never, 0)] {
        let machine = SignedIn::to_faulty(|script| script.refresh = refresh).await;
        machine.change_tokens(|tokens| tokens["expires_at"] = json!(1));
        let asked = machine.asked();
        machine.connect_unsupervised().await.unwrap().close().await;
        assert_eq!(machine.asked(), asked + renewals, "{refresh:?}");
    }
}

#[tokio::test]
async fn a_token_from_the_future_is_renewed() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    for (ahead, renewals) in [(60, 0), (100_000, 1)] {
        machine.change_tokens(|tokens| {
            tokens["obtained_at"] = json!(now() + ahead);
            tokens["expires_at"] = json!(now() + ahead + 3600);
        });
        let asked = machine.asked();
        machine.connect_unsupervised().await.unwrap().close().await;
        assert_eq!(machine.asked(), asked + renewals, "{ahead}");
    }
    assert!(machine.tokens()["obtained_at"].as_u64().unwrap() <= now());
}
