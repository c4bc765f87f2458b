//! The second half of a batch: writes the changes and commits in one round trip.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error as DriverError, Statement};

use super::statements::Statements;
use crate::batch_rows::BatchWrites;
use crate::usage::UsageRollup;
use crate::value::Value;
use crate::{StoredResponse, tables};

/// Writes everything and commits.
///
/// The commit is sent together with the writes. If one of them fails, the server has aborted the
/// transaction before it reaches the commit, which then rolls back.
pub(super) async fn save(
    client: &Client,
    statements: &Statements,
    writes: BatchWrites<'_>,
) -> Result<(), DriverError> {
    let BatchWrites { changes, sub_requests, answers, mut responses, media, audit, expires_at } =
        writes;
    keep_newest(&mut responses);
    let rollup = UsageRollup::of(&changes.receipts);
    let ended = changes.ended_holds.iter().map(|(_, id)| [Value::from(*id)]);
    let ledger = [
        columns(changes.accounts.iter().map(tables::member)),
        columns(changes.lineages.iter().map(tables::lineage)),
        columns(ended),
        columns(changes.opened_holds.iter().map(tables::hold)),
        columns(changes.receipts.iter().map(tables::receipt)),
        columns(changes.postings.iter().map(tables::posting)),
        columns(rollup.rows().map(tables::usage)),
    ];
    let deleted = changes.deleted_idempotency.iter();
    let deleted = columns(deleted.map(|(id, key)| [Value::from(*id), Value::from(key)]));
    let records = changes.idempotency.iter().map(|record| (record, expires_at));
    let answers = answers.into_iter().map(|answer| (answer, expires_at));
    let sub_requests = columns(sub_requests.into_iter().map(tables::sub_request));
    let responses = columns(responses.into_iter().map(tables::response));
    let runs = columns(media.iter().map(|run| tables::media_run(run)));
    let artifacts = columns(media.iter().flat_map(|run| tables::artifacts(run)));
    tokio::try_join!(
        biased;
        write(client, &statements.write_ledger, ledger.into_iter().flatten().collect()),
        write(client, &statements.delete_idempotency, deleted),
        write(client, &statements.upsert_idempotency, columns(records.map(tables::idempotency))),
        write(client, &statements.insert_sub_requests, sub_requests),
        write(client, &statements.insert_answers, columns(answers.map(tables::answer))),
        write(client, &statements.upsert_responses, responses),
        write(client, &statements.insert_runs, runs),
        write(client, &statements.insert_artifacts, artifacts),
        write(client, &statements.insert_audit, columns(audit.iter().map(tables::audit_entry))),
        client.execute(&statements.commit, &[]),
    )?;
    Ok(())
}

/// Keeps the last write of each response, in the order of ids, which is the order of locks.
fn keep_newest(responses: &mut Vec<&StoredResponse>) {
    responses.reverse();
    responses.sort_by(|one, other| one.id.cmp(&other.id));
    responses.dedup_by(|later, first| later.id == first.id);
}

/// The values of each column of some rows.
type Columns<'a> = Vec<Vec<Value<'a>>>;

fn columns<'a, const N: usize>(rows: impl IntoIterator<Item = [Value<'a>; N]>) -> Columns<'a> {
    let mut columns = vec![Vec::new(); N];
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    columns
}

/// Writes rows, if there are any.
async fn write(
    client: &Client,
    statement: &Statement,
    columns: Columns<'_>,
) -> Result<u64, DriverError> {
    if columns.iter().all(Vec::is_empty) {
        return Ok(0);
    }
    let columns: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|column| column as _).collect();
    client.execute(statement, &columns).await
}
