//! Reads a page: judges every address on the way, asks, follows, and understands what came.

mod deliver;
mod image;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use document_parser::{Document, PageJob, Pool};
use ledger::{MemberId, Time};
use tokio::time::timeout;
use wire::web::PageFormat;

use crate::clock;
use crate::config::Fetch;
use crate::problem::Problem;

use super::cache::Cache;
use super::connect::Connector;
use super::exchange::{Answer, Asked, Content, exchange};
use super::fault::Fault;
use super::guard::Guard;
use super::places::Places;
use super::resolve::{Resolve, System};
use super::robots::{MAX_ROBOTS_BYTES, Remembered, Rules};
use super::target::Target;
use super::timeouts::Timeouts;

/// Reads pages.
pub(crate) struct Reader {
    config: Fetch,
    guard: Guard,
    connector: Connector,
    resolver: OnceLock<Arc<dyn Resolve>>,
    robots: Remembered,
    places: Places,
    cache: Cache,
    parser: Pool,
    pub(crate) timeouts: Timeouts,
}

/// A page that was read.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) final_url: String,
    pub(crate) status: u16,
    pub(crate) document: Document,
    pub(crate) fetched_at: Time,
    pub(crate) may_be_kept: bool,
}

/// Which page, and how.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Whose cache is used; `None` for the one that all share.
    pub(crate) owner: Option<MemberId>,
    pub(crate) target: Target,
    pub(crate) format: PageFormat,
    pub(crate) max_age: Option<Duration>,
    /// For whom: parsers are shared fairly between members.
    pub(crate) member: MemberId,
}

/// A page, and whether it was kept from before.
pub(crate) struct Found {
    pub(crate) reading: Arc<Reading>,
    pub(crate) from_cache: bool,
}

/// Whether a site's robots.txt is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manners {
    Asked,
    NotAsked,
}

impl Reader {
    /// A reader as it is configured.
    pub(crate) fn open(config: &Fetch, parser: Pool) -> Result<Self, Problem> {
        Ok(Self {
            guard: Guard::new(config),
            connector: Connector::open(config)?,
            resolver: OnceLock::new(),
            robots: Remembered::default(),
            places: Places::new(config.concurrency, config.concurrency_per_host),
            cache: Cache::new(config.cache_bytes, config.cache_age),
            parser,
            timeouts: Timeouts::new(config.timeouts_per_minute),
            config: config.clone(),
        })
    }

    /// Looks up names elsewhere than the machine does; `false` if that was said before.
    pub(crate) fn resolve_with(&self, resolver: Arc<dyn Resolve>) -> bool {
        self.resolver.set(resolver).is_ok()
    }

    fn resolver(&self) -> &Arc<dyn Resolve> {
        self.resolver.get_or_init(|| Arc::new(System))
    }

    /// Reads a page, or finds it as it was read before.
    pub(crate) async fn read(&self, wanted: &Wanted) -> Result<Found, Fault> {
        // What may not be read may not be seen in what was kept either.
        self.guard.check(&wanted.target)?;
        if let Some(reading) = self.cache.find(wanted) {
            return Ok(Found { reading, from_cache: true });
        }
        let _place = self.places.enter()?;
        let late = |_| Fault::Late("it took too long in all");
        let fetched = Box::pin(self.fetch(wanted.target.clone()));
        let (target, content) = timeout(self.config.timeout, fetched).await.map_err(late)??;
        let (status, may_be_kept) = (content.status, content.may_be_kept);
        let page = PageJob {
            url: target.url.to_string(),
            content_type: content.media,
            format: wanted.format,
        };
        let document = self.parser.page(Some(wanted.member.0), page, &content.bytes).await?;
        let reading = Arc::new(Reading {
            final_url: target.url.to_string(),
            status,
            document,
            fetched_at: clock::now(),
            may_be_kept,
        });
        if reading.may_be_kept {
            self.cache.keep(wanted, &reading);
        }
        Ok(Found { reading, from_cache: false })
    }

    async fn fetch(&self, target: Target) -> Result<(Target, Content), Fault> {
        let manners = if self.config.robots { Manners::Asked } else { Manners::NotAsked };
        let max_bytes = self.config.max_bytes;
        match self.follow(target, manners, (max_bytes, true)).await? {
            (target, Answer::Content(content)) => Ok((target, content)),
            (_, Answer::Failed(status)) => Err(Fault::Status(status)),
            (_, Answer::Elsewhere(_)) => Err(Fault::TooManyRedirects(self.config.max_redirects)),
        }
    }

    /// Asks, and follows redirects; each is judged as the first address was.
    async fn follow(
        &self,
        mut target: Target,
        manners: Manners,
        (max_bytes, readable_only): (u64, bool),
    ) -> Result<(Target, Answer), Fault> {
        let mut redirects = 0;
        loop {
            let asked = Asked {
                target: &target,
                user_agent: &self.config.user_agent,
                max_bytes,
                readable_only,
            };
            let answer = self.ask(&asked, manners).await;
            let answer =
                answer.map_err(|fault| if redirects > 0 { behind(fault) } else { fault })?;
            let Answer::Elsewhere(location) = &answer else { return Ok((target, answer)) };
            if redirects == self.config.max_redirects {
                return Err(Fault::TooManyRedirects(self.config.max_redirects));
            }
            redirects += 1;
            let next = target.join(location).map_err(behind)?;
            if target.is_secure() && !next.is_secure() && !self.config.allow_downgrade {
                return Err(Fault::Downgrade);
            }
            target = next;
        }
    }

    /// Asks once, on a connection that is made for it.
    async fn ask(&self, asked: &Asked<'_>, manners: Manners) -> Result<Answer, Fault> {
        let target = asked.target;
        self.guard.check(target)?;
        if manners == Manners::Asked {
            self.check_robots(target).await?;
        }
        let _place = self.places.at(&target.host).await?;
        let addresses = self.guard.addresses(target, self.resolver()).await?;
        let connection = self.connector.connect(target, &addresses).await?;
        exchange(connection, asked).await
    }

    async fn check_robots(&self, target: &Target) -> Result<(), Fault> {
        let origin = target.origin();
        let rules = if let Some(rules) = self.robots.of(&origin) {
            rules
        } else {
            let rules = Arc::new(Box::pin(self.load_robots(target)).await?);
            self.robots.keep(origin, &rules);
            rules
        };
        match rules.forbidding(target.path()) {
            Some(rule) => Err(Fault::Robots { host: target.host.clone(), rule }),
            None => Ok(()),
        }
    }

    /// Asks a site for its robots.txt. A site that has none allows everything; one that cannot say
    /// is not read.
    async fn load_robots(&self, target: &Target) -> Result<Rules, Fault> {
        let limits = (MAX_ROBOTS_BYTES, false);
        let answer = self.follow(target.robots()?, Manners::NotAsked, limits).await;
        match answer {
            Ok((_, Answer::Content(content))) => {
                let text = String::from_utf8_lossy(&content.bytes);
                let text = text.trim_start_matches('\u{feff}');
                let token = self.config.user_agent.split(['/', ' ']).next().unwrap_or_default();
                Ok(Rules::parse(text, token))
            }
            Ok((_, Answer::Failed(status))) if status >= 500 || status == 429 => {
                Err(Fault::Unreachable("the site's robots.txt could not be read"))
            }
            // None, or none that can be used: nothing is forbidden.
            Ok(_)
            | Err(
                Fault::TooManyRedirects(_)
                | Fault::Redirect(_)
                | Fault::Downgrade
                | Fault::TooLarge(_)
                | Fault::Encoding(_)
                | Fault::Unreadable(_),
            ) => Ok(Rules::default()),
            Err(fault) => Err(fault),
        }
    }
}

/// What a redirect led to, told as such where it may not be read.
fn behind(fault: Fault) -> Fault {
    match fault {
        Fault::BadUrl(_) | Fault::NotPublic(_) | Fault::Port(_) => Fault::Redirect(Box::new(fault)),
        other => other,
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").finish_non_exhaustive()
    }
}
