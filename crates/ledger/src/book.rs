//! The rows one transaction works on, and the laws by which they change.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::{
    Account, End, Ended, Hold, HoldId, Lineage, LineageId, MemberId, Micros, Outcome, Posted,
    Posting, PostingKind, Receipt, Refusal, Repeat, Repeated, Room, Rule, Time, Tokens, Transfer,
    Wanted,
};

/// The rows one transaction works on.
///
/// The store puts in every row that the transaction names, if it exists; a row that is not in the
/// book does not exist. No operation changes anything when it refuses.
#[derive(Debug, Default)]
pub struct Book {
    // Ids are ours: nobody can choose them so that they fall together.
    accounts: HashMap<MemberId, Account, RandomState>,
    lineages: HashMap<LineageId, Lineage, RandomState>,
    holds: HashMap<HoldId, Hold, RandomState>,
    repeats: HashMap<(LineageId, String), Repeat>,
    /// Postings that have a reference, by member and reference.
    referred: HashMap<(MemberId, String), Posting>,
    touched_accounts: Vec<MemberId>,
    touched_lineages: Vec<LineageId>,
    changes: Changes,
}

/// What a transaction has to write. Rows are named once each, in the order of their first change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Accounts to overwrite.
    pub accounts: Vec<Account>,
    /// Lineages to overwrite.
    pub lineages: Vec<Lineage>,
    /// Holds to add.
    pub begun: Vec<Hold>,
    /// Holds to remove, each with its member.
    pub ended: Vec<(MemberId, HoldId)>,
    /// Receipts to add.
    pub receipts: Vec<Receipt>,
    /// Postings to add.
    pub postings: Vec<Posting>,
    /// Idempotency keys to add or overwrite.
    pub repeats: Vec<Repeat>,
    /// Idempotency keys to remove.
    pub forgotten: Vec<(LineageId, String)>,
}

impl Book {
    /// Puts in an account.
    pub fn add_account(&mut self, account: Account) {
        self.accounts.insert(account.id, account);
    }

    /// Puts in a lineage.
    pub fn add_lineage(&mut self, lineage: Lineage) {
        self.lineages.insert(lineage.id, lineage);
    }

    /// Puts in a live hold.
    pub fn add_hold(&mut self, hold: Hold) {
        self.holds.insert(hold.id, hold);
    }

    /// Puts in an idempotency key that is remembered.
    pub fn add_repeat(&mut self, repeat: Repeat) {
        self.repeats.insert((repeat.lineage, repeat.word.clone()), repeat);
    }

    /// Puts in a posting that has a reference.
    pub fn add_referred(&mut self, posting: Posting) {
        if let Some(reference) = &posting.reference {
            self.referred.insert((posting.member, reference.clone()), posting);
        }
    }

    /// An account of the book, as it stands now.
    pub fn account(&self, id: MemberId) -> Option<&Account> {
        self.accounts.get(&id)
    }

    /// A lineage of the book, as it stands now.
    pub fn lineage(&self, id: LineageId) -> Option<&Lineage> {
        self.lineages.get(&id)
    }

    /// Counts a request that costs nothing against the key's rate.
    pub fn admit(&mut self, lineage: LineageId, now: Time) -> Result<Option<Room>, Refusal> {
        let row = self.lineages.get_mut(&lineage).ok_or(Refusal::UnknownLineage)?;
        let account = self.accounts.get(&row.member).ok_or(Refusal::UnknownMember)?;
        if account.blocked {
            return Err(Refusal::Blocked);
        }
        let room = row.arrive(now)?;
        if room.is_some() {
            touch(&mut self.touched_lineages, lineage);
        }
        Ok(room)
    }

    /// Sets a price aside.
    pub fn hold(&mut self, wanted: Wanted, now: Time) -> Result<Hold, Refusal> {
        if wanted.amount.is_negative() || wanted.amount > Micros::MAX {
            return Err(Refusal::AmountOutOfRange);
        }
        if self.holds.contains_key(&wanted.id) {
            return Err(Refusal::IdUsed);
        }
        let account = self.accounts.get_mut(&wanted.member).ok_or(Refusal::UnknownMember)?;
        let lineage = self
            .lineages
            .get_mut(&wanted.lineage)
            .filter(|lineage| lineage.member == wanted.member)
            .ok_or(Refusal::UnknownLineage)?;
        if account.blocked {
            return Err(Refusal::Blocked);
        }
        if let Some(key) = &wanted.idempotency
            && let Some(repeat) = self.repeats.get(&(wanted.lineage, key.word.clone()))
        {
            return Err(Refusal::Repeated(repeat.against(&key.body_sha256)));
        }
        let after = check_cover(account, lineage, wanted.amount)?;
        let room = lineage.arrive(now)?;

        account.held = after.of_account;
        lineage.held = after.of_lineage;
        lineage.running += 1;
        touch(&mut self.touched_accounts, wanted.member);
        touch(&mut self.touched_lineages, wanted.lineage);
        if let Some(key) = &wanted.idempotency {
            let repeat = Repeat {
                lineage: wanted.lineage,
                word: key.word.clone(),
                body_sha256: key.body_sha256,
                hold: wanted.id,
                answered: false,
            };
            self.changes.touch_repeat(&repeat);
            self.repeats.insert((wanted.lineage, key.word.clone()), repeat);
        }
        let hold = Hold {
            id: wanted.id,
            member: wanted.member,
            lineage: wanted.lineage,
            amount: wanted.amount,
            operation: wanted.operation,
            model: wanted.model,
            owner: wanted.owner,
            since: now,
            lease_until: now.plus_micros(wanted.lease_micros),
            idempotency: wanted.idempotency.map(|key| key.word),
            room,
        };
        self.changes.begun.push(hold.clone());
        self.holds.insert(hold.id, hold.clone());
        Ok(hold)
    }

    /// Ends a hold: settles or releases it, as the rule says.
    pub fn end(&mut self, end: End, now: Time) -> Ended {
        let is_theirs = |hold: &Hold| hold.member == end.member;
        if !self.holds.get(&end.id).is_some_and(is_theirs) {
            return Ended::Before;
        }
        let Some(hold) = self.holds.remove(&end.id) else { return Ended::Before };
        let charged = match end.rule.outcome() {
            Outcome::Settled => hold.amount,
            Outcome::Released | Outcome::Expired => Micros::ZERO,
        };
        self.give_back(&hold, charged, now);
        self.end_repeat(&hold, end.answered && end.rule.outcome() == Outcome::Settled);
        let receipt = Receipt {
            id: hold.id,
            member: hold.member,
            lineage: hold.lineage,
            charged,
            rule: end.rule,
            operation: hold.operation,
            model: end.model.or(hold.model),
            tokens: end.tokens,
            since: hold.since,
            at: now,
        };
        self.changes.end_hold(hold.member, hold.id);
        self.changes.receipts.push(receipt.clone());
        Ended::Now(receipt)
    }

    /// Ends a hold whose lease is over; a hold that was renewed meanwhile stays.
    pub fn expire(&mut self, id: HoldId, now: Time) -> Ended {
        match self.holds.get(&id) {
            Some(hold) if hold.lease_until < now => {
                let member = hold.member;
                let (rule, tokens) = (Rule::Expired, Tokens::default());
                self.end(End { id, member, rule, model: None, tokens, answered: false }, now)
            }
            _ => Ended::Before,
        }
    }

    /// Moves money between a member and the house: credit that was paid in, or a correction.
    ///
    /// A correction may take no more than is available: what is held is promised. A transfer whose
    /// reference is known is not posted again.
    pub fn post(&mut self, transfer: Transfer, now: Time) -> Result<Posted, Refusal> {
        let account = self.accounts.get_mut(&transfer.member).ok_or(Refusal::UnknownMember)?;
        if let Some(reference) = &transfer.reference
            && let Some(known) = self.referred.get(&(transfer.member, reference.clone()))
        {
            return transfer.against(known);
        }
        let Transfer { member, kind, amount, reason, reference } = transfer;
        let is_possible = match kind {
            PostingKind::TopUp => amount > Micros::ZERO,
            PostingKind::Adjustment => amount != Micros::ZERO,
            PostingKind::Charge => false,
        };
        if !is_possible {
            return Err(Refusal::AmountOutOfRange);
        }
        let balance = account.balance.plus(amount).ok_or(Refusal::AmountOutOfRange)?;
        if amount.is_negative() && balance < account.held {
            let needed = Micros::new(-amount.get());
            return Err(Refusal::InsufficientBalance { needed, available: account.available() });
        }
        let (house, reason) = (kind.house(), Some(reason));
        let hold = None;
        let posting =
            Posting { at: now, kind, member, house, amount, balance, hold, reason, reference };
        account.follow(&posting);
        touch(&mut self.touched_accounts, member);
        self.changes.postings.push(posting.clone());
        self.add_referred(posting.clone());
        Ok(Posted::Now(posting))
    }

    /// How many rows the book holds.
    pub fn rows(&self) -> usize {
        let words = self.repeats.len() + self.referred.len();
        self.accounts.len() + self.lineages.len() + self.holds.len() + words
    }

    /// Whether a live hold is in the book.
    pub fn has_hold(&self, id: HoldId) -> bool {
        self.holds.contains_key(&id)
    }

    /// A hold that is in the book and has not ended.
    pub fn live_hold(&self, id: HoldId) -> Option<&Hold> {
        self.holds.get(&id)
    }

    /// Whether an idempotency key is in the book.
    pub fn has_repeat(&self, lineage: LineageId, word: &str) -> bool {
        self.repeats.contains_key(&(lineage, word.to_owned()))
    }

    /// Whether a posting with this reference is in the book.
    pub fn has_referred(&self, member: MemberId, reference: &str) -> bool {
        self.referred.contains_key(&(member, reference.to_owned()))
    }

    /// Takes out all idempotency keys: they have an end, which the book does not know. References
    /// go with them: hardly any is asked for again.
    pub fn drop_repeats(&mut self) {
        self.repeats.clear();
        self.referred.clear();
    }

    /// The word a live hold was asked with.
    pub fn word_of(&self, id: HoldId) -> Option<(LineageId, &str)> {
        let hold = self.holds.get(&id)?;
        Some((hold.lineage, hold.idempotency.as_deref()?))
    }

    /// What has to be written, and a book without changes after it.
    pub fn take_changes(&mut self) -> Changes {
        let mut changes = std::mem::take(&mut self.changes);
        let accounts = self.touched_accounts.drain(..);
        changes.accounts = accounts.filter_map(|id| self.accounts.get(&id).cloned()).collect();
        let lineages = self.touched_lineages.drain(..);
        changes.lineages = lineages.filter_map(|id| self.lineages.get(&id).cloned()).collect();
        changes
    }

    /// Ends what a hold set aside, and charges so much of it.
    fn give_back(&mut self, hold: &Hold, charged: Micros, now: Time) {
        if let Some(lineage) = self.lineages.get_mut(&hold.lineage) {
            lineage.held = lineage.held.minus(hold.amount).unwrap_or(Micros::ZERO);
            lineage.spend(charged);
            lineage.running = lineage.running.saturating_sub(1);
            touch(&mut self.touched_lineages, hold.lineage);
        }
        let Some(account) = self.accounts.get_mut(&hold.member) else { return };
        account.held = account.held.minus(hold.amount).unwrap_or(Micros::ZERO);
        if charged > Micros::ZERO {
            let posting = Posting {
                at: now,
                kind: PostingKind::Charge,
                member: hold.member,
                house: PostingKind::Charge.house(),
                amount: Micros::new(-charged.get()),
                balance: account.balance.minus(charged).unwrap_or(account.balance),
                hold: Some(hold.id),
                reason: None,
                reference: None,
            };
            account.follow(&posting);
            self.changes.postings.push(posting);
        }
        touch(&mut self.touched_accounts, hold.member);
    }

    fn end_repeat(&mut self, hold: &Hold, answered: bool) {
        let Some(word) = &hold.idempotency else { return };
        let key = (hold.lineage, word.clone());
        // Once its time is over, the word may stand for a later request: that one keeps it.
        let Some(repeat) = self.repeats.get_mut(&key).filter(|known| known.hold == hold.id) else {
            return;
        };
        if answered {
            repeat.answered = true;
            self.changes.touch_repeat(repeat);
        } else {
            self.repeats.remove(&key);
            self.changes.forget(key);
        }
    }
}

/// What is held of both once an amount is set aside.
struct After {
    of_account: Micros,
    of_lineage: Micros,
}

/// What would be held, if the account and the lineage both cover the amount.
fn check_cover(account: &Account, lineage: &Lineage, amount: Micros) -> Result<After, Refusal> {
    if let Some(limit) = lineage.limits.concurrency
        && lineage.running >= limit
    {
        return Err(Refusal::TooManyRunning { limit });
    }
    if let Some(available) = lineage.spendable()
        && available < amount
    {
        let available = available.max(Micros::ZERO);
        return Err(Refusal::KeyLimitReached { needed: amount, available });
    }
    let available = account.available();
    if available < amount {
        let available = available.max(Micros::ZERO);
        return Err(Refusal::InsufficientBalance { needed: amount, available });
    }
    let of_account = account.held.plus(amount).ok_or(Refusal::AmountOutOfRange)?;
    let of_lineage = lineage.held.plus(amount).ok_or(Refusal::AmountOutOfRange)?;
    Ok(After { of_account, of_lineage })
}

/// Remembers a row that changed. A transaction touches few rows: to look through them is quickest.
fn touch<Id: PartialEq>(touched: &mut Vec<Id>, id: Id) {
    if !touched.contains(&id) {
        touched.push(id);
    }
}

impl Repeat {
    fn against(&self, body_sha256: &[u8; 32]) -> Repeated {
        if self.body_sha256 != *body_sha256 {
            Repeated::OtherBody
        } else if self.answered {
            Repeated::Answered(self.hold)
        } else {
            Repeated::Running
        }
    }
}

impl Changes {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn touch_repeat(&mut self, repeat: &Repeat) {
        let is_same = |known: &Repeat| known.lineage == repeat.lineage && known.word == repeat.word;
        self.forgotten.retain(|(lineage, word)| *lineage != repeat.lineage || *word != repeat.word);
        match self.repeats.iter_mut().find(|known| is_same(known)) {
            Some(known) => known.clone_from(repeat),
            None => self.repeats.push(repeat.clone()),
        }
    }

    fn forget(&mut self, key: (LineageId, String)) {
        self.repeats.retain(|known| known.lineage != key.0 || known.word != key.1);
        self.forgotten.push(key);
    }

    /// A hold that began and ended in one transaction is never written.
    fn end_hold(&mut self, member: MemberId, id: HoldId) {
        match self.begun.iter().position(|hold| hold.id == id) {
            Some(index) => drop(self.begun.remove(index)),
            None => self.ended.push((member, id)),
        }
    }
}
