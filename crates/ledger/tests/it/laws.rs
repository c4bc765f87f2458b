//! Any sequence of operations has the result that the model predicts.

use ledger::{
    Account, AccountKind, Book, Budget, BudgetUse, ChargeRule, EndResult, Hold, HoldEnd, HoldId,
    HoldOutcome, HoldRequest, IdempotencyConflict, IdempotencyKey, Limits, Lineage, LineageId,
    MemberId, Micros, Period, PostingKind, Refusal, Time, TokenCounts, Transfer, TransferResult,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::model::{Event, Held, Model, Rejected, TEAM, budget, windows};
use crate::tables::Tables;

const MINUTE: i64 = 60_000_000;
const LEASE: i64 = 30_000_000;

/// One operation.
#[derive(Debug, Clone)]
enum Step {
    Post(i64, PostingKind, i64, Option<u8>),
    Hold {
        member: i64,
        lineage: i64,
        amount: i64,
        key: Option<(u8, u8)>,
    },
    /// Ends the hold that was opened `ago` holds before the last one.
    End {
        ago: usize,
        as_owner: bool,
        rule: ChargeRule,
        answered: bool,
    },
    Expire {
        ago: usize,
    },
    Admit(i64),
    /// A member joins or leaves the team.
    Join {
        member: i64,
        joins: bool,
    },
    Pass(i64),
    /// Writes the changes; `reload` starts the next transaction with rows read again.
    Commit {
        reload: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let amount = prop_oneof![
        8 => 0..60_i64,
        1 => -3..0_i64,
        1 => select(vec![i64::MIN, i64::MAX, Micros::MAX.get(), Micros::MAX.get() + 1]),
    ];
    let moved = prop_oneof![
        4 => -50..150_i64,
        // Often equal, so that references match an earlier transfer.
        4 => Just(40_i64),
        1 => select(vec![i64::MIN + 1, i64::MAX, Micros::MAX.get(), -Micros::MAX.get()]),
    ];
    let key = proptest::option::weighted(0.4, (0..3_u8, 0..2_u8));
    let reference = proptest::option::weighted(0.5, 0..2_u8);
    prop_oneof![
        2 => (0..5_i64, select(PostingKind::ALL.to_vec()), moved, reference).prop_map(
            |(member, kind, amount, reference)| Step::Post(member, kind, amount, reference)
        ),
        6 => (0..5_i64, 0..6_i64, amount, key).prop_map(|(member, lineage, amount, key)| {
            // Mostly a key of the same member.
            let member = if amount % 7 == 0 { member } else { owner(lineage).0 };
            Step::Hold { member, lineage, amount, key }
        }),
        6 => (0..6_usize, proptest::bool::weighted(0.9), select(ChargeRule::ALL.to_vec()), any::<bool>())
            .prop_map(|(ago, as_owner, rule, answered)| Step::End { ago, as_owner, rule, answered }),
        1 => (0..6_usize).prop_map(|ago| Step::Expire { ago }),
        2 => (0..6_i64).prop_map(Step::Admit),
        1 => (1..4_i64, any::<bool>()).prop_map(|(member, joins)| Step::Join { member, joins }),
        2 => prop_oneof![0..2_000_000_i64, 0..90_000_000_i64].prop_map(Step::Pass),
        2 => any::<bool>().prop_map(|reload| Step::Commit { reload }),
    ]
}

/// Members 1 and 2 have keys, 3 is blocked and has one, 4 is the team; member 0 and key 0 do not exist.
fn owner(lineage: i64) -> MemberId {
    MemberId(match lineage {
        1 | 2 => 1,
        3 | 4 => 2,
        _ => 3,
    })
}

fn limits(lineage: i64) -> Limits {
    match lineage {
        1 => Limits { spend: Some(Micros::new(120)), ..Limits::default() },
        2 => Limits { requests_per_minute: Some(7), ..Limits::default() },
        3 => Limits { concurrency: Some(2), requests_per_minute: Some(3), ..Limits::default() },
        4 => {
            let amount = Micros::new(70);
            Limits { budget: Some(Budget { amount, period: Period::Day }), ..Limits::default() }
        }
        _ => Limits::default(),
    }
}

/// Runs the same operations on the book, the model and the tables.
struct Harness {
    book: Book,
    model: Model,
    tables: Tables,
    now: Time,
    opened: Vec<HoldId>,
}

impl Harness {
    fn new() -> Self {
        let members: Vec<_> = (1..=4).map(MemberId).collect();
        let lineages = (1..=5).map(|id| (LineageId(id), owner(id), limits(id))).collect();
        let blocked = vec![MemberId(3)];
        let (events, joined) = (Vec::new(), Vec::new());
        let model = Model { events, blocked, members, joined, lineages };
        let mut tables = Tables::default();
        for member in &model.members {
            let mut account = Account::new(*member);
            account.blocked = model.blocked.contains(member);
            account.budget = budget(*member);
            if *member == TEAM {
                account.kind = AccountKind::Team;
            }
            tables.accounts.insert(*member, account);
        }
        tables.lineages = model.rows().into_iter().map(|row| (row.id, row)).collect();
        let now = Time::from_millis(1_790_000_000_000);
        Self { book: tables.book(), model, tables, now, opened: Vec::new() }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Post(member, kind, amount, reference) => {
                self.post(MemberId(member), kind, amount, reference);
            }
            Step::Hold { member, lineage, amount, key } => {
                self.hold(member, lineage, amount, key);
            }
            Step::End { ago, as_owner, rule, answered } => {
                if let Some(id) = self.ago(ago) {
                    self.end(id, as_owner, rule, answered);
                }
            }
            Step::Expire { ago } => {
                if let Some(id) = self.ago(ago) {
                    self.expire(id);
                }
            }
            Step::Admit(lineage) => self.admit(LineageId(lineage)),
            Step::Join { member, joins } => self.join(MemberId(member), joins),
            Step::Pass(micros) => self.now = self.now.plus_micros(micros),
            Step::Commit { reload } => {
                self.tables.write(self.book.take_changes());
                assert!(self.book.take_changes().is_empty());
                if reload {
                    self.book = self.tables.book();
                }
            }
        }
        self.check_figures();
    }

    /// Running holds keep the account that pays for them.
    fn join(&mut self, member: MemberId, joins: bool) {
        self.tables.write(self.book.take_changes());
        self.tables.accounts.get_mut(&member).unwrap().team = joins.then_some(TEAM);
        self.book = self.tables.book();
        self.model.joined.retain(|known| *known != member);
        self.model.joined.extend(joins.then_some(member));
    }

    fn ago(&self, ago: usize) -> Option<HoldId> {
        self.opened.iter().rev().nth(ago).copied()
    }

    fn post(&mut self, member: MemberId, kind: PostingKind, amount: i64, reference: Option<u8>) {
        let expected = self.model.post(member, (kind, amount), reference);
        let (reason, text) = ("why".to_owned(), reference.map(|number| number.to_string()));
        let amount_micros = Micros::new(amount);
        let transfer =
            Transfer { member, kind, amount: amount_micros, reason, reference: text.clone() };
        let before = self.rows();
        let posted = self.book.post(transfer, self.now);
        let was_posted =
            |posted: &TransferResult| matches!(posted, TransferResult::AlreadyPosted(_));
        assert_eq!(posted.as_ref().map(was_posted).map_err(rejected), expected);
        match posted {
            Ok(TransferResult::Posted(posting)) => {
                self.model.events.push(Event::Posted { member, kind, amount, reference });
                assert_eq!(posting.balance.get(), self.model.balance(member));
                assert_eq!((posting.amount, posting.reference), (amount_micros, text));
            }
            Ok(TransferResult::AlreadyPosted(posting)) => {
                assert_eq!(self.rows(), before, "a repeat changed something");
                assert_eq!((posting.amount, posting.reference), (amount_micros, text));
            }
            Err(_) => assert_eq!(self.rows(), before, "a refusal changed something"),
        }
    }

    fn hold(&mut self, member: i64, lineage: i64, amount: i64, key: Option<(u8, u8)>) {
        let id = HoldId::new(1, self.opened.len() as u128);
        let request = HoldRequest {
            id,
            member: MemberId(member),
            lineage: LineageId(lineage),
            amount: Micros::new(amount),
            operation: "chat".into(),
            model: None,
            owner: 1,
            lease_micros: LEASE,
            idempotency: key.map(|(key, body)| IdempotencyKey {
                key: key.to_string(),
                body_sha256: [body; 32],
            }),
        };
        let held = Held {
            id,
            member: request.member,
            payer: self.model.payer(request.member),
            lineage: request.lineage,
            amount,
            since: self.now,
            lease_until: self.now.plus_micros(LEASE),
            key: key.map(|(key, body)| (key.to_string(), body)),
        };
        let expected = self.model.hold(&held, self.now);
        let before = self.rows();
        let result = self.book.hold(request.clone(), self.now, &windows(self.now));
        assert_eq!(result.as_ref().map(drop).map_err(rejected), expected);
        if result.is_err() {
            return assert_eq!(self.rows(), before, "a refusal changed something");
        }
        self.opened.push(id);
        self.arrived(held.lineage);
        self.model.events.push(Event::Held(held));
        let mut again = request;
        again.idempotency = None;
        assert_eq!(self.book.hold(again, self.now, &windows(self.now)), Err(Refusal::IdUsed));
    }

    fn end(&mut self, id: HoldId, as_owner: bool, rule: ChargeRule, answered: bool) {
        let whose = self.model.held(id).member;
        let member = if as_owner { whose } else { MemberId(whose.0 + 1) };
        let expected = self.model.end(id, member, rule);
        let before = self.rows();
        let end = HoldEnd {
            id,
            member,
            rule,
            model: None,
            tokens: TokenCounts::default(),
            attempts: None,
            answered,
        };
        let ended = self.book.end(end, self.now);
        self.ended(id, &ended, expected, answered && rule.outcome() == HoldOutcome::Settled);
        if ended == EndResult::AlreadyEnded {
            assert_eq!(self.rows(), before, "a second end changed something");
        }
    }

    fn expire(&mut self, id: HoldId) {
        let held = self.model.held(id);
        let is_over = held.lease_until < self.now && !self.model.has_ended(id);
        let ended = self.book.expire(id, self.now);
        self.ended(id, &ended, is_over.then_some(0), false);
    }

    fn ended(&mut self, id: HoldId, ended: &EndResult, expected: Option<i64>, answered: bool) {
        let charged = match ended {
            EndResult::Ended(receipt) => Some(receipt.charged.get()),
            EndResult::AlreadyEnded => None,
        };
        assert_eq!(charged, expected);
        if let Some(charged) = charged {
            self.model.events.push(Event::Ended { id, charged, answered });
        }
    }

    fn admit(&mut self, lineage: LineageId) {
        let expected = self.model.admit(lineage, self.now);
        let result = self.book.admit(lineage, self.now);
        assert_eq!(result.as_ref().map(drop).map_err(rejected), expected);
        match result {
            Ok(_) => self.arrived(lineage),
            Err(Refusal::RateLimited { retry_after_micros, .. }) => {
                let then = |micros| self.model.admit(lineage, self.now.plus_micros(micros));
                assert_eq!(
                    then(retry_after_micros - 1),
                    Err(Rejected::Rate),
                    "it may come earlier"
                );
                assert_eq!(then(retry_after_micros), Ok(()), "it may come when it was told");
            }
            Err(_) => {}
        }
    }

    /// Any window of a minute has at most a minute's requests and the burst before it.
    fn arrived(&mut self, lineage: LineageId) {
        let at = self.now;
        self.model.events.push(Event::Arrived { lineage, at });
        let Some(limit) = self.model.limits(lineage).requests_per_minute else { return };
        let arrivals = self.model.arrivals(lineage);
        let in_window = |micros: i64| {
            let since = at.micros() - micros;
            let count = arrivals.iter().filter(|arrival| arrival.micros() > since).count();
            i64::try_from(count).unwrap()
        };
        for minutes in 1..=3 {
            assert!(in_window(minutes * MINUTE) <= i64::from(limit) * (minutes + 1));
        }
        assert!(in_window(1) <= i64::from(limit), "the burst is the limit");
    }

    fn check_figures(&self) {
        for member in &self.model.members {
            let account = self.book.account(*member).unwrap();
            assert_eq!(account.balance.get(), self.model.balance(*member));
            assert_eq!(account.held.get(), self.model.held_of(*member));
            assert!(!account.held.is_negative() && account.held <= account.balance, "overdrawn");
            let used = self.model.used(budget(*member), self.now, |held| held.is_of(*member));
            let status = account.budget_status(&windows(self.now));
            assert_eq!(status.map_or(0, |status| status.used.get()), used);
            assert!(status.is_none_or(|status| status.used <= status.budget.amount));
        }
        for (id, _, limits) in &self.model.lineages {
            let lineage = self.book.lineage(*id).unwrap();
            let (held, running) = self.model.held_by(*id);
            assert_eq!((lineage.held.get(), lineage.running), (held, running));
            assert_eq!(lineage.spent.get(), self.model.spent(*id));
            let used = lineage.spent.get() + lineage.held.get();
            assert!(limits.spend.is_none_or(|limit| used <= limit.get()));
            assert!(limits.concurrency.is_none_or(|limit| running <= limit));
            let used = self.model.used(limits.budget, self.now, |held| held.lineage == *id);
            let status = lineage.budget_status(&windows(self.now));
            assert_eq!(status.map_or(0, |status| status.used.get()), used);
            assert!(status.is_none_or(|status| status.left().get() + used == 70));
        }
    }

    /// The tables agree with the model.
    fn check_tables(&mut self) {
        self.tables.write(self.book.take_changes());
        let tables = &self.tables;
        let rows: (Vec<_>, Vec<_>) = (
            tables.accounts.values().cloned().collect(),
            tables.lineages.values().cloned().collect(),
        );
        assert_eq!(rows, self.rows());
        let live: Vec<_> = self.model.live().iter().map(|held| held.id).collect();
        assert_eq!(tables.holds.keys().copied().collect::<Vec<_>>(), live);
        for id in &self.opened {
            assert_eq!(tables.receipts.contains_key(id), self.model.has_ended(*id));
        }
        let mut house = 0;
        let mut balances = std::collections::BTreeMap::new();
        for posting in &tables.postings {
            let balance = balances.entry(posting.member).or_insert(0);
            *balance += posting.amount.get();
            house -= posting.amount.get();
            assert_eq!(posting.balance.get(), *balance);
            assert_ne!(posting.amount, Micros::ZERO);
            assert_eq!(posting.house, posting.kind.house());
        }
        let members: i64 = tables.accounts.values().map(|account| account.balance.get()).sum();
        assert_eq!(members + house, 0, "the sum over all accounts");
        for receipt in tables.receipts.values() {
            let of_it = tables.postings.iter().filter(|posting| posting.hold == Some(receipt.id));
            let of_it: Vec<_> = of_it.map(|it| (-it.amount.get(), it.member)).collect();
            assert_eq!(of_it.len(), usize::from(receipt.charged > Micros::ZERO));
            let paid = (receipt.charged.get(), receipt.payer);
            assert!(of_it.into_iter().all(|posted| posted == paid));
        }
        let counted = tables.accounts.values().map(|account| account.usage.month.requests);
        let charges = tables.postings.iter().filter(|posting| posting.hold.is_some()).count();
        assert_eq!(usize::try_from(counted.sum::<i64>()), Ok(charges));
        self.check_derived_rows();
    }

    /// Accounts and lineages can be recomputed from postings, receipts and live holds.
    fn check_derived_rows(&self) {
        let tables = &self.tables;
        // Rows that no request changed in this window still have the use of an earlier one.
        let current = |used: &mut BudgetUse, budget: Option<Budget>| {
            let window = windows(self.now).of(budget?.period);
            *used = used.at(window);
            Some(used.start)
        };
        let held = |is_its: &dyn Fn(&Hold) -> bool| {
            let of_it: Vec<_> = tables.holds.values().filter(|hold| is_its(hold)).collect();
            let sum = of_it.iter().map(|hold| hold.amount.get()).sum();
            (Micros::new(sum), u32::try_from(of_it.len()).unwrap())
        };
        for account in tables.accounts.values() {
            let Account { id, kind, team, blocked, budget, .. } = *account;
            let mut replayed = Account { kind, team, blocked, budget, ..Account::new(id) };
            for posting in &tables.postings {
                if posting.member == id {
                    replayed.apply(posting);
                }
                let receipt = posting.hold.map(|hold| &tables.receipts[&hold]);
                if let Some(receipt) = receipt.filter(|it| it.owners().any(|owner| owner == id)) {
                    let windows = windows(receipt.since);
                    replayed.budget_use.replay(budget, receipt.since, receipt.charged, &windows);
                }
            }
            (replayed.held, _) = held(&|hold| hold.payer == id);
            let used = current(&mut replayed.budget_use, budget);
            (replayed.budget_use.held, _) = held(&|hold| {
                let is_its = hold.member == id || hold.payer == id;
                used.is_some_and(|start| is_its && hold.since >= start)
            });
            let mut account = account.clone();
            current(&mut account.budget_use, budget);
            assert_eq!(replayed, account);
        }
        for lineage in tables.lineages.values() {
            let mut replayed = Lineage::new(lineage.id, lineage.member, lineage.limits);
            for posting in &tables.postings {
                let receipt = posting.hold.map(|hold| &tables.receipts[&hold]);
                if let Some(receipt) = receipt.filter(|receipt| receipt.lineage == lineage.id) {
                    replayed.spend(posting.charged(), posting.at);
                    let windows = windows(receipt.since);
                    let (since, charged) = (receipt.since, receipt.charged);
                    replayed.budget_use.replay(lineage.limits.budget, since, charged, &windows);
                }
            }
            (replayed.held, replayed.running) = held(&|hold| hold.lineage == lineage.id);
            replayed.next_arrival = lineage.next_arrival;
            let used = current(&mut replayed.budget_use, lineage.limits.budget);
            (replayed.budget_use.held, _) = held(&|hold| {
                used.is_some_and(|start| hold.lineage == lineage.id && hold.since >= start)
            });
            let mut lineage = lineage.clone();
            current(&mut lineage.budget_use, lineage.limits.budget);
            assert_eq!(replayed, lineage);
        }
    }

    fn rows(&self) -> (Vec<Account>, Vec<Lineage>) {
        let account = |id: &MemberId| self.book.account(*id).unwrap().clone();
        let lineage = |id: LineageId| self.book.lineage(id).unwrap().clone();
        let lineages = self.model.lineages.iter().map(|(id, ..)| lineage(*id)).collect();
        (self.model.members.iter().map(account).collect(), lineages)
    }
}

fn rejected(refusal: &Refusal) -> Rejected {
    match refusal {
        Refusal::UnknownMember => Rejected::UnknownMember,
        Refusal::UnknownLineage => Rejected::UnknownLineage,
        Refusal::Blocked => Rejected::Blocked,
        Refusal::RateLimited { .. } => Rejected::Rate,
        Refusal::TooManyRunning { .. } => Rejected::Concurrency,
        Refusal::KeyLimitReached { .. } => Rejected::KeyLimit,
        Refusal::BudgetReached { .. } => Rejected::Budget,
        Refusal::InsufficientBalance { .. } => Rejected::Balance,
        Refusal::IdempotencyKeyUsed(IdempotencyConflict::Running) => Rejected::Running,
        Refusal::IdempotencyKeyUsed(IdempotencyConflict::OtherBody) => Rejected::OtherBody,
        Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(id)) => Rejected::Answered(*id),
        Refusal::ReferenceUsed { .. } => Rejected::Reference,
        Refusal::AmountOutOfRange => Rejected::Amount,
        Refusal::TooManyJobs { .. } => panic!("the store counts jobs"),
        Refusal::IdUsed => panic!("every id is new"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_matches_the_model(steps in proptest::collection::vec(step(), 1..120)) {
        let mut harness = Harness::new();
        for step in steps {
            harness.run(&step);
        }
        harness.check_tables();
    }
}

#[test]
fn an_expired_key_belongs_to_the_later_request() {
    let mut harness = Harness::new();
    harness.post(MemberId(1), PostingKind::TopUp, 100, None);
    harness.hold(1, 1, 5, Some((0, 0)));
    let first = harness.opened[0];
    // The key expires while its first request still runs.
    harness.book.clear_idempotency_records();
    let mut later = HoldRequest {
        id: HoldId::new(2, 0),
        member: MemberId(1),
        lineage: LineageId(1),
        amount: Micros::new(5),
        operation: "chat".into(),
        model: None,
        owner: 1,
        lease_micros: LEASE,
        idempotency: Some(IdempotencyKey { key: "0".to_owned(), body_sha256: [0; 32] }),
    };
    harness.book.hold(later.clone(), harness.now, &windows(harness.now)).unwrap();
    harness.end(first, true, ChargeRule::Answered, true);
    later.id = HoldId::new(2, 1);
    let running = Err(Refusal::IdempotencyKeyUsed(IdempotencyConflict::Running));
    assert_eq!(harness.book.hold(later, harness.now, &windows(harness.now)), running);
}

#[test]
fn a_reused_reference_reports_the_fields_that_differ() {
    let mut harness = Harness::new();
    let transfer = |kind, amount, reason: &str| Transfer {
        member: MemberId(1),
        kind,
        amount: Micros::new(amount),
        reason: reason.to_owned(),
        reference: Some("invoice 17".to_owned()),
    };
    let top_up = PostingKind::TopUp;
    let first = harness.book.post(transfer(top_up, 5, "a"), harness.now).unwrap();
    let TransferResult::Posted(posting) = first else { panic!("nothing was posted") };
    let again = harness.book.post(transfer(top_up, 5, "a"), harness.now.plus_micros(9)).unwrap();
    assert_eq!(again, TransferResult::AlreadyPosted(posting));
    for (other, differing) in [
        (transfer(PostingKind::Adjustment, 5, "a"), vec!["kind"]),
        (transfer(top_up, 6, "a"), vec!["amount"]),
        (transfer(top_up, 5, "b"), vec!["reason"]),
        (transfer(PostingKind::Charge, 0, "b"), vec!["kind", "amount", "reason"]),
    ] {
        let refused = harness.book.post(other, harness.now);
        assert_eq!(refused, Err(Refusal::ReferenceUsed { differing }));
    }
    let refusal = Refusal::ReferenceUsed { differing: vec!["kind", "amount"] };
    let said = "the reference was used before, with another kind and another amount";
    assert_eq!(refusal.to_string(), said);
    // References of different members do not collide.
    let other = Transfer { member: MemberId(2), ..transfer(top_up, 6, "b") };
    assert!(matches!(harness.book.post(other, harness.now), Ok(TransferResult::Posted(_))));
}
