//! Tests of `data`.

use super::*;

#[test]
fn account_matches_only_the_whole_name() {
    let accounts = "postgres-old:x:7:8::/:/bin/sh\npostgres:x:101:104:A,B:/var:/bin/bash\n";
    assert_eq!(account(accounts, "postgres"), Some(ServerUser::Account { user: 101, group: 104 }));
    assert_eq!(account(accounts, "post"), None);
    assert_eq!(account("postgres:x:many", "postgres"), None);
}

#[test]
fn newest_release_has_the_largest_number() {
    let bins = ["/usr/lib/postgresql/9.6/bin", "/l/15/bin", "/l/9/bin"].map(Path::new);
    assert_eq!(bins.iter().max_by_key(|bin| release(bin)), Some(&Path::new("/l/15/bin")));
}
