use super::*;

const SECOND: u64 = 1_000_000_000;
const WANTED: Wanted = Wanted { settled_ns: 3 * SECOND, groups: 64, leaks: 256 };

fn event(id: u64, path: &str, time_ns: u64) -> Event<'_> {
    Event { root: 4, comm: b"x", pid: 7, time_ns, id, path: path.as_bytes() }
}

fn who(book: &mut Book, comm: &str) -> u16 {
    let who = Who { comm: comm.into(), cgroups: format!("0::/{comm}.service\n") };
    book.people.find(&who).unwrap_or_else(|| book.people.add(who))
}

#[test]
fn a_leak_is_dying_then_a_zombie_then_freed() {
    let mut book = Book::default();
    let (maker, remover) = (who(&mut book, "runc"), who(&mut book, "systemd"));
    book.made(&event(1, "/docker/17", SECOND), maker);
    let live = book.take(SECOND, &WANTED);
    assert_eq!((live.groups[0].made, live.groups[0].removed, live.dying), (1, 0, 0));
    book.removed(&event(1, "/docker/17", 2 * SECOND), remover);
    let dying = book.take(5 * SECOND - 1, &WANTED);
    assert_eq!((dying.dying, dying.zombies, dying.leaks.len()), (1, 0, 0));
    let settled = book.take(5 * SECOND, &WANTED);
    assert_eq!((settled.dying, settled.zombies, settled.groups.len()), (1, 1, 1));
    let group = &settled.groups[0];
    assert_eq!((group.pattern.as_str(), group.example.as_str()), ("/docker/#", "/docker/17"));
    assert_eq!((group.creator.comm.as_str(), group.remover.comm.as_str()), ("runc", "systemd"));
    assert_eq!((group.made, group.removed, group.released, group.zombies), (1, 1, 0, 1));
    let leak = &settled.leaks[0];
    assert_eq!((leak.id, leak.path.as_str(), leak.made_ns), (1, "/docker/17", Some(SECOND)));
    assert_eq!((leak.removed_ns, leak.creator_pid, leak.remover_pid), (2 * SECOND, Some(7), 7));
    assert!(book.take(6 * SECOND, &WANTED).leaks.is_empty(), "told once");
    book.released(&event(1, "/docker/17", 7 * SECOND));
    let freed = book.take(8 * SECOND, &WANTED);
    assert_eq!((freed.dying, freed.zombies, freed.freed, freed.groups[0].released), (0, 0, vec![1], 1));
    assert_eq!(book.part_bytes, 0);
}

#[test]
fn what_was_there_before_has_no_creator() {
    let mut book = Book::default();
    let remover = who(&mut book, "systemd");
    book.removed(&event(1, "/a", SECOND), remover);
    book.released(&event(9, "/never-seen", SECOND));
    let all = book.take(9 * SECOND, &WANTED);
    assert_eq!((all.zombies, all.freed_older, all.groups[0].made), (1, 1, 0));
    assert_eq!((all.leaks[0].made_ns, all.leaks[0].creator_pid), (None, None));
    assert_eq!(all.groups[0].creator, Who::default());
}

#[test]
fn lost_events_leave_no_account_open() {
    let mut book = Book::default();
    let maker = who(&mut book, "runc");
    book.lost(2);
    book.made(&event(1, "/a", 1), maker);
    book.released(&event(1, "/a", 2)); // the removal was lost
    book.made(&event(2, "/a", 3), maker);
    book.removed(&event(2, "/a", 4), maker);
    book.made(&event(2, "/a", 5), maker); // the release was lost
    book.removed(&event(2, "/a", 6), maker);
    book.removed(&event(2, "/a", 7), maker);
    book.released(&event(2, "/a", 8));
    let all = book.take(9 * SECOND, &WANTED);
    assert_eq!((all.lost, all.dying, all.zombies), (2, 0, 0));
    let sum = |get: fn(&Group) -> u64| all.groups.iter().map(get).sum::<u64>();
    assert_eq!((sum(|g| g.made), sum(|g| g.removed), sum(|g| g.released)), (3, 3, 3));
}

#[test]
fn beyond_the_bound_everything_still_counts() {
    let mut book = Book::default();
    let maker = who(&mut book, "runc");
    let more = 5_000;
    let all = u64::try_from(MOST_ENTRIES).unwrap() + more;
    for id in 0..all {
        let path = format!("/docker/{id}-{}", "7".repeat(300));
        book.made(&event(id, &path, id), maker);
        book.removed(&event(id, &path, id), maker);
    }
    assert!(book.part_bytes <= MOST_PART_BYTES);
    assert_eq!(book.entries.len(), MOST_ENTRIES);
    book.take(9 * SECOND, &WANTED);
    let full = book.take(18 * SECOND, &WANTED);
    assert_eq!((full.dying, full.zombies, full.untracked), (all, all, more));
    for id in 0..all {
        let path = format!("/docker/{id}-{}", "7".repeat(300));
        book.released(&event(id, &path, 20 * SECOND));
    }
    let empty = book.take(30 * SECOND, &WANTED);
    assert_eq!((empty.dying, empty.zombies, empty.untracked, empty.freed_older), (0, 0, 0, 0));
    assert_eq!(empty.freed.len(), MOST_ENTRIES, "every one that had a name");
}

#[test]
fn endless_kinds_of_paths_fall_into_one_group_and_old_ones_give_way() {
    let mut book = Book::default();
    let word = |n: u64| -> String {
        format!("{n:06}").bytes().map(|digit| char::from(b'g' + digit - b'0')).collect()
    };
    for n in 0..5_000 {
        let path = format!("/{}", word(n));
        let maker = who(&mut book, &word(n));
        book.made(&event(n, &path, n * SECOND), maker);
        book.removed(&event(n, &path, n * SECOND), maker);
        book.released(&event(n, &path, n * SECOND));
        book.make_room();
    }
    let all = book.take(9_000 * SECOND, &Wanted { groups: usize::MAX, ..WANTED });
    assert!(all.groups.len() <= super::super::interned::MOST + 1);
    assert_eq!(all.groups.iter().map(|group| group.made).sum::<u64>(), 5_000);
    assert_eq!(all.groups.iter().map(|group| group.released).sum::<u64>(), 5_000);
    let newest =
        all.groups.iter().find(|group| group.creator.comm == word(4_999)).expect("the newest is named");
    assert_eq!(newest.pattern, format!("/{}", word(4_999)));
}
