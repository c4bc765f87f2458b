//! The rows that one transaction works on, and the operations that change them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::hold::owners;
use crate::{
    Account, AccountKind, BudgetStatus, ChargeRule, EndResult, Hold, HoldEnd, HoldId, HoldOutcome,
    HoldRequest, IdempotencyRecord, LimitStatus, Lineage, LineageId, MemberId, Micros, Posting,
    PostingKind, RateLimitStatus, Receipt, Refusal, Time, Transfer, TransferResult, Windows,
};

/// The rows that one transaction works on.
///
/// The store adds every existing row that the transaction needs; a missing row does not exist.
/// A refused operation changes nothing.
#[derive(Debug, Default)]
pub struct Book {
    // A fast hash is safe here: clients cannot choose these ids.
    accounts: HashMap<MemberId, Account, RandomState>,
    lineages: HashMap<LineageId, Lineage, RandomState>,
    holds: HashMap<HoldId, Hold, RandomState>,
    idempotency: HashMap<(LineageId, String), IdempotencyRecord>,
    /// Postings with a reference, by member and reference.
    referenced: HashMap<(MemberId, String), Posting>,
    changed_accounts: Vec<MemberId>,
    changed_lineages: Vec<LineageId>,
    changes: Changes,
}

/// The writes of a transaction. Every row occurs once, in the order of its first change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Accounts to update.
    pub accounts: Vec<Account>,
    /// Lineages to update.
    pub lineages: Vec<Lineage>,
    pub opened_holds: Vec<Hold>,
    /// Holds to delete, each with its member.
    pub ended_holds: Vec<(MemberId, HoldId)>,
    pub receipts: Vec<Receipt>,
    pub postings: Vec<Posting>,
    /// Idempotency records to insert or update.
    pub idempotency: Vec<IdempotencyRecord>,
    pub deleted_idempotency: Vec<(LineageId, String)>,
}

impl Book {
    pub fn add_account(&mut self, account: Account) {
        self.accounts.insert(account.id, account);
    }

    pub fn add_lineage(&mut self, lineage: Lineage) {
        self.lineages.insert(lineage.id, lineage);
    }

    pub fn add_hold(&mut self, hold: Hold) {
        self.holds.insert(hold.id, hold);
    }

    pub fn add_idempotency_record(&mut self, record: IdempotencyRecord) {
        self.idempotency.insert((record.lineage, record.key.clone()), record);
    }

    pub fn add_referenced_posting(&mut self, posting: Posting) {
        if let Some(reference) = &posting.reference {
            self.referenced.insert((posting.member, reference.clone()), posting);
        }
    }

    pub fn account(&self, id: MemberId) -> Option<&Account> {
        self.accounts.get(&id)
    }

    pub fn lineage(&self, id: LineageId) -> Option<&Lineage> {
        self.lineages.get(&id)
    }

    pub fn admit(
        &mut self,
        lineage: LineageId,
        now: Time,
    ) -> Result<Option<RateLimitStatus>, Refusal> {
        let row = self.lineages.get_mut(&lineage).ok_or(Refusal::UnknownLineage)?;
        let account = self.accounts.get(&row.member).ok_or(Refusal::UnknownMember)?;
        if account.blocked {
            return Err(Refusal::Blocked);
        }
        let status = row.count_request(now)?;
        if status.is_some() {
            mark_changed(&mut self.changed_lineages, lineage);
        }
        Ok(status)
    }

    /// Opens a hold on the account of the member, or on that of the member's team. The windows are those
    /// of `now`.
    pub fn hold(
        &mut self,
        request: HoldRequest,
        now: Time,
        windows: &Windows,
    ) -> Result<Hold, Refusal> {
        if request.amount.is_negative() || request.amount > Micros::MAX {
            return Err(Refusal::AmountOutOfRange);
        }
        if self.holds.contains_key(&request.id) {
            return Err(Refusal::IdUsed);
        }
        let asker = self.accounts.get(&request.member).ok_or(Refusal::UnknownMember)?;
        let payer = self.accounts.get(&asker.payer()).ok_or(Refusal::UnknownMember)?;
        let lineage = self
            .lineages
            .get_mut(&request.lineage)
            .filter(|lineage| lineage.member == request.member)
            .ok_or(Refusal::UnknownLineage)?;
        if asker.blocked || payer.blocked {
            return Err(Refusal::Blocked);
        }
        if let Some(key) = &request.idempotency
            && let Some(record) = self.idempotency.get(&(request.lineage, key.key.clone()))
        {
            return Err(Refusal::IdempotencyKeyUsed(record.conflict_with(&key.body_sha256)));
        }
        let after = check_funds(payer, lineage, request.amount)?;
        let of_team = (payer.id != asker.id).then(|| payer.budget_status(windows)).flatten();
        let budgets = [lineage.budget_status(windows), asker.budget_status(windows), of_team];
        let budget = check_budgets(budgets, request.amount)?;
        let rate = lineage.count_request(now)?;

        let payer = payer.id;
        lineage.held = after.lineage;
        lineage.running += 1;
        let of_lineage = lineage.budget_use.hold(lineage.limits.budget, request.amount, windows);
        let mut since = of_lineage.map_or(now, |start| now.max(start));
        for id in owners(request.member, payer) {
            let Some(account) = self.accounts.get_mut(&id) else { continue };
            if id == payer {
                account.held = after.account;
            }
            let start = account.budget_use.hold(account.budget, request.amount, windows);
            since = start.map_or(since, |start| since.max(start));
            if id == payer || start.is_some() {
                mark_changed(&mut self.changed_accounts, id);
            }
        }
        mark_changed(&mut self.changed_lineages, request.lineage);
        if let Some(key) = &request.idempotency {
            let record = IdempotencyRecord {
                lineage: request.lineage,
                key: key.key.clone(),
                body_sha256: key.body_sha256,
                hold: request.id,
                answered: false,
            };
            self.changes.set_idempotency_record(&record);
            self.idempotency.insert((request.lineage, key.key.clone()), record);
        }
        let hold = Hold {
            id: request.id,
            member: request.member,
            payer,
            lineage: request.lineage,
            amount: request.amount,
            operation: request.operation,
            model: request.model,
            owner: request.owner,
            since,
            lease_until: now.plus_micros(request.lease_micros),
            idempotency: request.idempotency.map(|key| key.key),
            limits: LimitStatus { rate, budget },
        };
        self.changes.opened_holds.push(hold.clone());
        self.holds.insert(hold.id, hold.clone());
        Ok(hold)
    }

    /// Settles or releases a hold, by its rule.
    pub fn end(&mut self, end: HoldEnd, now: Time) -> EndResult {
        let is_of_member = |hold: &Hold| hold.member == end.member;
        if !self.holds.get(&end.id).is_some_and(is_of_member) {
            return EndResult::AlreadyEnded;
        }
        let Some(hold) = self.holds.remove(&end.id) else { return EndResult::AlreadyEnded };
        let charged = match end.rule.outcome() {
            HoldOutcome::Settled => hold.amount,
            HoldOutcome::Released | HoldOutcome::Expired => Micros::ZERO,
        };
        self.release(&hold, charged, now);
        self.end_idempotency_record(
            &hold,
            end.answered && end.rule.outcome() == HoldOutcome::Settled,
        );
        let receipt = Receipt {
            id: hold.id,
            member: hold.member,
            payer: hold.payer,
            lineage: hold.lineage,
            charged,
            rule: end.rule,
            operation: hold.operation,
            model: end.model.or(hold.model),
            tokens: end.tokens,
            attempts: end.attempts,
            since: hold.since,
            at: now,
        };
        self.changes.end_hold(hold.member, hold.id);
        self.changes.receipts.push(receipt.clone());
        EndResult::Ended(receipt)
    }

    pub fn expire(&mut self, id: HoldId, now: Time) -> EndResult {
        match self.holds.get(&id) {
            Some(hold) if hold.lease_until < now => {
                self.end(HoldEnd::new(id, hold.member, ChargeRule::Expired), now)
            }
            _ => EndResult::AlreadyEnded,
        }
    }

    /// Posts a top-up or an adjustment.
    ///
    /// An adjustment cannot take more than the available balance, because holds are promised. A
    /// transfer with a known reference is not posted again.
    pub fn post(&mut self, transfer: Transfer, now: Time) -> Result<TransferResult, Refusal> {
        let account = self.accounts.get_mut(&transfer.member).ok_or(Refusal::UnknownMember)?;
        if account.kind == AccountKind::RemovedTeam {
            return Err(Refusal::UnknownMember);
        }
        if let Some(reference) = &transfer.reference
            && let Some(known) = self.referenced.get(&(transfer.member, reference.clone()))
        {
            return transfer.compare_with(known);
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
            let (needed, available) = (Micros::new(-amount.get()), account.available());
            return Err(Refusal::InsufficientBalance { needed, available, account: account.kind });
        }
        let (house, reason) = (kind.house(), Some(reason));
        let hold = None;
        let posting =
            Posting { at: now, kind, member, house, amount, balance, hold, reason, reference };
        account.apply(&posting);
        mark_changed(&mut self.changed_accounts, member);
        self.changes.postings.push(posting.clone());
        self.add_referenced_posting(posting.clone());
        Ok(TransferResult::Posted(posting))
    }

    pub fn rows(&self) -> usize {
        let by_text = self.idempotency.len() + self.referenced.len();
        self.accounts.len() + self.lineages.len() + self.holds.len() + by_text
    }

    pub fn has_hold(&self, id: HoldId) -> bool {
        self.holds.contains_key(&id)
    }

    pub fn has_idempotency_record(&self, lineage: LineageId, key: &str) -> bool {
        self.idempotency.contains_key(&(lineage, key.to_owned()))
    }

    pub fn has_referenced_posting(&self, member: MemberId, reference: &str) -> bool {
        self.referenced.contains_key(&(member, reference.to_owned()))
    }

    /// Removes all idempotency records, because the book does not know when they expire, and all
    /// postings with a reference, which are rarely needed again.
    pub fn clear_idempotency_records(&mut self) {
        self.idempotency.clear();
        self.referenced.clear();
    }

    pub fn idempotency_key_of(&self, id: HoldId) -> Option<(LineageId, &str)> {
        let hold = self.holds.get(&id)?;
        Some((hold.lineage, hold.idempotency.as_deref()?))
    }

    pub fn take_changes(&mut self) -> Changes {
        let mut changes = std::mem::take(&mut self.changes);
        let accounts = self.changed_accounts.drain(..);
        changes.accounts = accounts.filter_map(|id| self.accounts.get(&id).cloned()).collect();
        let lineages = self.changed_lineages.drain(..);
        changes.lineages = lineages.filter_map(|id| self.lineages.get(&id).cloned()).collect();
        changes
    }

    /// Releases the held amount and posts the charge.
    fn release(&mut self, hold: &Hold, charged: Micros, now: Time) {
        if let Some(lineage) = self.lineages.get_mut(&hold.lineage) {
            lineage.held = lineage.held.minus(hold.amount).unwrap_or(Micros::ZERO);
            lineage.spend(charged, now);
            if lineage.limits.budget.is_some() {
                lineage.budget_use.end(hold.since, hold.amount, charged);
            }
            lineage.running = lineage.running.saturating_sub(1);
            mark_changed(&mut self.changed_lineages, hold.lineage);
        }
        for id in owners(hold.member, hold.payer) {
            if let Some(account) = self.accounts.get_mut(&id).filter(|it| it.budget.is_some()) {
                account.budget_use.end(hold.since, hold.amount, charged);
                mark_changed(&mut self.changed_accounts, id);
            }
        }
        let Some(account) = self.accounts.get_mut(&hold.payer) else { return };
        account.held = account.held.minus(hold.amount).unwrap_or(Micros::ZERO);
        if charged > Micros::ZERO {
            let posting = Posting {
                at: now,
                kind: PostingKind::Charge,
                member: hold.payer,
                house: PostingKind::Charge.house(),
                amount: Micros::new(-charged.get()),
                balance: account.balance.minus(charged).unwrap_or(account.balance),
                hold: Some(hold.id),
                reason: None,
                reference: None,
            };
            account.apply(&posting);
            self.changes.postings.push(posting);
        }
        mark_changed(&mut self.changed_accounts, hold.payer);
    }

    fn end_idempotency_record(&mut self, hold: &Hold, answered: bool) {
        let Some(key) = &hold.idempotency else { return };
        let key = (hold.lineage, key.clone());
        // An expired key may belong to a later hold by now, which keeps it.
        let Some(record) = self.idempotency.get_mut(&key).filter(|known| known.hold == hold.id)
        else {
            return;
        };
        if answered {
            record.answered = true;
            self.changes.set_idempotency_record(record);
        } else {
            self.idempotency.remove(&key);
            self.changes.delete_idempotency_record(key);
        }
    }
}

/// The held amounts after a hold is opened.
struct HeldAfter {
    account: Micros,
    lineage: Micros,
}

/// Checks that the paying account and the lineage cover the amount.
fn check_funds(account: &Account, lineage: &Lineage, amount: Micros) -> Result<HeldAfter, Refusal> {
    if let Some(limit) = lineage.limits.concurrency
        && lineage.running >= limit
    {
        return Err(Refusal::TooManyRunning { limit });
    }
    if let Some(available) = lineage.remaining_spend()
        && available < amount
    {
        let available = available.max(Micros::ZERO);
        return Err(Refusal::KeyLimitReached { needed: amount, available });
    }
    let available = account.available();
    if available < amount {
        let available = available.max(Micros::ZERO);
        let account = account.kind;
        return Err(Refusal::InsufficientBalance { needed: amount, available, account });
    }
    let account_held = account.held.plus(amount).ok_or(Refusal::AmountOutOfRange)?;
    let lineage_held = lineage.held.plus(amount).ok_or(Refusal::AmountOutOfRange)?;
    Ok(HeldAfter { account: account_held, lineage: lineage_held })
}

/// Checks that all budgets cover the amount; returns the one that has the least left afterwards.
fn check_budgets(
    budgets: [Option<BudgetStatus>; 3],
    amount: Micros,
) -> Result<Option<BudgetStatus>, Refusal> {
    let mut tightest: Option<BudgetStatus> = None;
    for status in budgets.into_iter().flatten() {
        let refused = Refusal::BudgetReached { needed: amount, status };
        let after = status.reserve(amount).ok_or(refused)?;
        tightest = tightest.filter(|known| known.left() <= after.left()).or(Some(after));
    }
    Ok(tightest)
}

/// A linear search: transactions change few rows.
fn mark_changed<Id: PartialEq>(changed: &mut Vec<Id>, id: Id) {
    if !changed.contains(&id) {
        changed.push(id);
    }
}

impl Changes {
    /// The budgets of the changed keys and accounts with their use: for reactions to the used
    /// share of a budget, in the same transaction. Balances are in `accounts`.
    pub fn budgets(&self, windows: &Windows) -> impl Iterator<Item = BudgetStatus> {
        let keys = self.lineages.iter().filter_map(|row| row.budget_status(windows));
        keys.chain(self.accounts.iter().filter_map(|row| row.budget_status(windows)))
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn set_idempotency_record(&mut self, record: &IdempotencyRecord) {
        let is_same =
            |lineage: LineageId, key: &str| lineage == record.lineage && key == record.key;
        self.deleted_idempotency.retain(|(lineage, key)| !is_same(*lineage, key));
        match self.idempotency.iter_mut().find(|known| is_same(known.lineage, &known.key)) {
            Some(known) => known.clone_from(record),
            None => self.idempotency.push(record.clone()),
        }
    }

    fn delete_idempotency_record(&mut self, key: (LineageId, String)) {
        self.idempotency.retain(|known| known.lineage != key.0 || known.key != key.1);
        self.deleted_idempotency.push(key);
    }

    /// A hold that was opened and ended in one transaction is never written.
    fn end_hold(&mut self, member: MemberId, id: HoldId) {
        match self.opened_holds.iter().position(|hold| hold.id == id) {
            Some(index) => drop(self.opened_holds.remove(index)),
            None => self.ended_holds.push((member, id)),
        }
    }
}
