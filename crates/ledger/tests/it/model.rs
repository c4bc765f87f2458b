//! A slow reference model: it stores events only and computes every figure from all of them.

use ledger::{
    Budget, ChargeRule, HoldId, HoldOutcome, Limits, Lineage, LineageId, MemberId, Micros, Period,
    PostingKind, Time, Window, Windows,
};

const MINUTE: i64 = 60_000_000;

/// A successful operation.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Posted { member: MemberId, kind: PostingKind, amount: i64, reference: Option<u8> },
    Arrived { lineage: LineageId, at: Time },
    Held(Held),
    Ended { id: HoldId, charged: i64, answered: bool },
}

#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) id: HoldId,
    pub(crate) member: MemberId,
    pub(crate) payer: MemberId,
    pub(crate) lineage: LineageId,
    pub(crate) amount: i64,
    pub(crate) since: Time,
    pub(crate) lease_until: Time,
    /// The idempotency key and the body's digest.
    pub(crate) key: Option<(String, u8)>,
}

/// Why the model rejects an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    UnknownMember,
    UnknownLineage,
    Blocked,
    Running,
    OtherBody,
    Answered(HoldId),
    Concurrency,
    KeyLimit,
    Budget,
    Balance,
    Rate,
    Amount,
    Reference,
}

pub(crate) struct Model {
    pub(crate) events: Vec<Event>,
    pub(crate) blocked: Vec<MemberId>,
    pub(crate) members: Vec<MemberId>,
    /// Members that are in the team now.
    pub(crate) joined: Vec<MemberId>,
    pub(crate) lineages: Vec<(LineageId, MemberId, Limits)>,
}

impl Model {
    pub(crate) fn balance(&self, member: MemberId) -> i64 {
        let of = |event: &Event| match event {
            Event::Posted { member: whose, amount, .. } if *whose == member => *amount,
            Event::Ended { id, charged, .. } if self.held(*id).payer == member => -charged,
            _ => 0,
        };
        self.events.iter().map(of).sum()
    }

    /// The account that pays for a request of a member now.
    pub(crate) fn payer(&self, member: MemberId) -> MemberId {
        if self.joined.contains(&member) { TEAM } else { member }
    }

    pub(crate) fn live(&self) -> Vec<&Held> {
        let opened = self.events.iter().filter_map(|event| match event {
            Event::Held(held) => Some(held),
            _ => None,
        });
        opened.filter(|held| !self.has_ended(held.id)).collect()
    }

    pub(crate) fn held_of(&self, member: MemberId) -> i64 {
        self.live().iter().filter(|held| held.payer == member).map(|held| held.amount).sum()
    }

    pub(crate) fn held_by(&self, lineage: LineageId) -> (i64, u32) {
        let live = self.live();
        let live: Vec<_> = live.iter().filter(|held| held.lineage == lineage).collect();
        (live.iter().map(|held| held.amount).sum(), u32::try_from(live.len()).unwrap())
    }

    pub(crate) fn spent(&self, lineage: LineageId) -> i64 {
        let of = |event: &Event| match event {
            Event::Ended { id, charged, .. } if self.held(*id).lineage == lineage => *charged,
            _ => 0,
        };
        self.events.iter().map(of).sum()
    }

    pub(crate) fn arrivals(&self, lineage: LineageId) -> Vec<Time> {
        let of = |event: &Event| match event {
            Event::Arrived { lineage: whose, at } if *whose == lineage => Some(*at),
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }

    /// A leaky bucket that holds one minute's requests.
    fn check_rate(&self, lineage: LineageId, now: Time) -> Result<(), Rejected> {
        let Some(limit) = self.limits(lineage).requests_per_minute else { return Ok(()) };
        let each = MINUTE.div_euclid(i64::from(limit)) + i64::from(MINUTE % i64::from(limit) != 0);
        let (mut level, mut last) = (0, Time::default());
        for at in self.arrivals(lineage).into_iter().chain([now]) {
            level = (level - (at.micros() - last.micros())).max(0) + each;
            last = at;
        }
        if level <= each * i64::from(limit) { Ok(()) } else { Err(Rejected::Rate) }
    }

    pub(crate) fn admit(&self, lineage: LineageId, now: Time) -> Result<(), Rejected> {
        let known = self.lineages.iter().find(|(id, ..)| *id == lineage);
        let (_, member, _) = known.ok_or(Rejected::UnknownLineage)?;
        if self.blocked.contains(member) {
            return Err(Rejected::Blocked);
        }
        self.check_rate(lineage, now)
    }

    pub(crate) fn hold(&self, request: &Held, now: Time) -> Result<(), Rejected> {
        if request.amount < 0 || request.amount > Micros::MAX.get() {
            return Err(Rejected::Amount);
        }
        if !self.members.contains(&request.member) {
            return Err(Rejected::UnknownMember);
        }
        let is_of_member =
            |(id, member, _): &&(_, _, _)| (*id, *member) == (request.lineage, request.member);
        self.lineages.iter().find(is_of_member).ok_or(Rejected::UnknownLineage)?;
        if self.blocked.contains(&request.member) || self.blocked.contains(&request.payer) {
            return Err(Rejected::Blocked);
        }
        self.check_idempotency_key(request)?;
        let limits = self.limits(request.lineage);
        let (held, running) = self.held_by(request.lineage);
        if limits.concurrency.is_some_and(|limit| running >= limit) {
            return Err(Rejected::Concurrency);
        }
        let used = self.spent(request.lineage) + held + request.amount;
        if limits.spend.is_some_and(|limit| used > limit.get()) {
            return Err(Rejected::KeyLimit);
        }
        if self.balance(request.payer) - self.held_of(request.payer) < request.amount {
            return Err(Rejected::Balance);
        }
        let of_account = |id| (budget(id), self.used(budget(id), now, |held| held.is_of(id)));
        for (budget, used) in [
            (limits.budget, self.used(limits.budget, now, |held| held.lineage == request.lineage)),
            of_account(request.member),
            of_account(request.payer),
        ] {
            if budget.is_some_and(|budget| used + request.amount > budget.amount.get()) {
                return Err(Rejected::Budget);
            }
        }
        self.check_rate(request.lineage, now)
    }

    /// What the requests that began in the current window of a budget use of it.
    pub(crate) fn used(
        &self,
        budget: Option<Budget>,
        now: Time,
        is_its: impl Fn(&Held) -> bool,
    ) -> i64 {
        let Some(Budget { period, .. }) = budget else { return 0 };
        let is_current = |held: &Held| windows(held.since).of(period) == windows(now).of(period);
        let amount = |event: &Event| match event {
            Event::Held(held) if is_its(held) && is_current(held) => {
                let charge = self.events.iter().find_map(|event| match event {
                    Event::Ended { id, charged, .. } if *id == held.id => Some(*charged),
                    _ => None,
                });
                charge.unwrap_or(held.amount)
            }
            _ => 0,
        };
        self.events.iter().map(amount).sum()
    }

    /// The newest request with the same key decides.
    fn check_idempotency_key(&self, request: &Held) -> Result<(), Rejected> {
        let Some((key, body)) = &request.key else { return Ok(()) };
        let same = self.events.iter().rev().find_map(|event| match event {
            Event::Held(held) if held.lineage == request.lineage => {
                held.key.as_ref().filter(|(known, _)| known == key).map(|(_, body)| (held, body))
            }
            _ => None,
        });
        let Some((first, first_body)) = same else { return Ok(()) };
        let answered = match self.end_of(first.id) {
            Some(false) => return Ok(()),
            other => other,
        };
        match answered {
            _ if first_body != body => Err(Rejected::OtherBody),
            Some(_) => Err(Rejected::Answered(first.id)),
            None => Err(Rejected::Running),
        }
    }

    /// The charge of a hold that ends, if it can end.
    pub(crate) fn end(&self, id: HoldId, member: MemberId, rule: ChargeRule) -> Option<i64> {
        let live = self.live().into_iter().find(|held| held.id == id)?;
        let charged = if rule.outcome() == HoldOutcome::Settled { live.amount } else { 0 };
        (live.member == member).then_some(charged)
    }

    /// Whether a transfer with this reference was posted before.
    pub(crate) fn post(
        &self,
        member: MemberId,
        (kind, amount): (PostingKind, i64),
        reference: Option<u8>,
    ) -> Result<bool, Rejected> {
        if !self.members.contains(&member) {
            return Err(Rejected::UnknownMember);
        }
        for event in &self.events {
            if let Event::Posted { member: whose, kind: of, amount: moved, reference: known } =
                event
                && known.is_some()
                && (*whose, *known) == (member, reference)
            {
                return if (*of, *moved) == (kind, amount) {
                    Ok(true)
                } else {
                    Err(Rejected::Reference)
                };
            }
        }
        let is_possible = match kind {
            PostingKind::Charge => false,
            PostingKind::TopUp => amount > 0,
            PostingKind::Adjustment => amount != 0,
        };
        let after = i128::from(self.balance(member)) + i128::from(amount);
        if !is_possible || after.abs() > i128::from(Micros::MAX.get()) {
            return Err(Rejected::Amount);
        }
        let is_covered = amount > 0 || after >= i128::from(self.held_of(member));
        if is_covered { Ok(false) } else { Err(Rejected::Balance) }
    }

    pub(crate) fn limits(&self, lineage: LineageId) -> Limits {
        self.lineages.iter().find(|(id, ..)| *id == lineage).unwrap().2
    }

    pub(crate) fn rows(&self) -> Vec<Lineage> {
        let row = |(id, member, limits): &(_, _, _)| Lineage::new(*id, *member, *limits);
        self.lineages.iter().map(row).collect()
    }

    pub(crate) fn held(&self, id: HoldId) -> &Held {
        let find = |event: &'_ Event| matches!(event, Event::Held(held) if held.id == id);
        match self.events.iter().find(|event| find(event)).unwrap() {
            Event::Held(held) => held,
            _ => panic!("it was held"),
        }
    }

    pub(crate) fn has_ended(&self, id: HoldId) -> bool {
        self.end_of(id).is_some()
    }

    /// Whether the answer of an ended hold is stored.
    fn end_of(&self, id: HoldId) -> Option<bool> {
        self.events.iter().find_map(|event| match event {
            Event::Ended { id: ended, answered, .. } if *ended == id => Some(*answered),
            _ => None,
        })
    }
}

/// The account of the team.
pub(crate) const TEAM: MemberId = MemberId(4);

impl Held {
    /// Whether the budget of this member or team counts it.
    pub(crate) fn is_of(&self, account: MemberId) -> bool {
        self.member == account || self.payer == account
    }
}

/// The budget of a member or of the team.
pub(crate) fn budget(member: MemberId) -> Option<Budget> {
    let (amount, period) = match member {
        MemberId(2) => (90, Period::Week),
        TEAM => (110, Period::Day),
        _ => return None,
    };
    Some(Budget { amount: Micros::new(amount), period })
}

/// Short windows, so that a sequence of operations passes many of them.
pub(crate) fn windows(now: Time) -> Windows {
    let window = |length: i64| {
        let start = now.micros().div_euclid(length) * length;
        Window { start: Time::from_micros(start), end: Time::from_micros(start + length) }
    };
    Windows { day: window(MINUTE), week: window(3 * MINUTE), month: window(7 * MINUTE) }
}
