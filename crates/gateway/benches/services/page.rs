//! Reading a page of half a megabyte: all that the service does for it, against trafilatura, which
//! is handed the bytes.

use std::fs;
use std::time::Duration;

use memchr::memmem;
use serde_json::json;

use crate::Effort;
use crate::article::{self, FIRST, LAST, PAGE_BYTES};
use crate::client::Client;
use crate::load::{self, Target};
use crate::message::post;
use crate::peer::Trafilatura;
use crate::service::{Home, Service};
use crate::site;
use crate::table::{Better, Goal, Spread, row as print};

/// How many pages are read at once.
const CONNECTIONS: usize = 2;
/// How often trafilatura reads the page in a round.
const TIMES: u32 = 4;
/// More addresses than are read in a round.
const ADDRESSES: usize = 4000;

pub(crate) async fn row(effort: &Effort) {
    let name = format!("fetch and extraction of an article of {} kB, CPU", PAGE_BYTES / 1000);
    if !effort.is_wanted(&name) {
        return;
    }
    let page = article::page();
    let site = site::start(&page);
    let mut home = Home::sqlite(&format!("fetch: {{allow_private: [\"{site}\"]}}\n")).await;
    home.people(1).await;
    let file = home.folder.path().join("article.html");
    fs::write(&file, &page).expect("a file");
    let mut peer = Trafilatura::start(&file, &[FIRST, LAST]);
    let service = Service::start(&home);
    let found = Client::new(&service, &home).post("/v1/web/fetch", &asked(&site.to_string(), 0, 0));
    let content = found.good()["content"].as_str().map(|text| text.chars().count());
    load::closed_loop(&target(&service, &home, &site.to_string(), 1), CONNECTIONS, effort.round)
        .await;
    let theirs = match &mut peer {
        Ok(peer) => Ok(peer.read(1)),
        Err(why) => Err(why.clone()),
    };
    let mut ours = Vec::new();
    let mut ratios = Vec::new();
    let mut peers = Vec::new();
    for round in 0..effort.rounds {
        let target = target(&service, &home, &site.to_string(), round + 2);
        let before = service.processes.cpu();
        let (count, _) = load::closed_loop(&target, CONNECTIONS, effort.round).await;
        let own = each(service.processes.cpu().saturating_sub(before), count);
        ours.push(own);
        if let Ok(peer) = &mut peer {
            let before = peer.processes.cpu();
            let read = peer.read(TIMES);
            assert!(read.is_whole, "trafilatura reads all of the article");
            let other = each(peer.processes.cpu().saturating_sub(before), TIMES);
            peers.push(other);
            ratios.push(other / own);
        }
    }
    let ours = Spread::new(ours);
    let own = format!("{:.1} ms, {} characters", ours.median(), content.unwrap_or(0));
    match theirs {
        Ok(theirs) => {
            let against = format!(
                "trafilatura {:.1} ms, {} characters",
                Spread::new(peers).median(),
                theirs.characters
            );
            let goal = Goal { bar: 3.0, aim: None, unit: "× faster", better: Better::Higher };
            print(&name, &own, &against, &Spread::new(ratios), Some(goal));
        }
        Err(why) => print(&format!("{name}, in ms"), &own, &format!("none: {why}"), &ours, None),
    }
    drop(service);
    home.check_ledger();
}

/// Addresses that nobody read before.
fn target(service: &Service, home: &Home, site: &str, round: usize) -> Target {
    let requests = (0..ADDRESSES).map(|number| {
        let body = asked(site, round, number).to_string();
        post(service.address, "/v1/web/fetch", &home.keys[0], &body)
    });
    Target::new(service.address, requests.collect(), is_right)
}

fn asked(site: &str, round: usize, number: usize) -> serde_json::Value {
    json!({"url": format!("http://{site}/{round}/{number}"), "max_chars": 1_000_000})
}

fn is_right(body: &[u8]) -> bool {
    memmem::find(body, FIRST.as_bytes()).is_some()
        && memmem::find(body, LAST.as_bytes()).is_some()
        && memmem::find(body, b"\"from_cache\":false").is_some()
}

/// Milliseconds for one.
fn each(cpu: Duration, count: u32) -> f64 {
    cpu.as_secs_f64() * 1e3 / f64::from(count)
}
