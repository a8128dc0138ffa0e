use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::tempdir;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn missing_file_is_created() {
    let directory = tempdir().unwrap();
    let path = directory.path().join(".terraform.lock.hcl");
    assert_eq!(read(&path, 3).unwrap_err().kind(), ErrorKind::NotFound);
    write(&path, None, b"new").unwrap();
    assert_eq!(read(&path, 3).unwrap(), b"new");
    assert_eq!(read(&path, 2).unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(names(directory.path()), [".terraform.lock.hcl"]);
}

#[test]
fn changed_file_is_not_replaced() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("lock");
    let refused = |expected: Option<&[u8]>| {
        let before = (fs::read(&path).ok(), identity(&path));
        let error = write(&path, expected, b"new").unwrap_err();
        assert_eq!(error[0].code, Code::FileChanged, "{error}");
        assert_eq!((fs::read(&path).ok(), identity(&path)), before);
        names(directory.path())
    };
    assert_eq!(refused(Some(b"old")), [""; 0]);
    fs::write(&path, "other").unwrap();
    assert_eq!(refused(Some(b"old")), ["lock"]);
    assert_eq!(refused(None), ["lock"]);
    write(&path, Some(b"other"), b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn failed_write_leaves_nothing_behind() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("missing/lock");
    assert_eq!(write(&path, None, b"new").unwrap_err()[0].code, Code::Io);
    assert_eq!(names(directory.path()), [""; 0]);
    let folder = directory.path().join("folder");
    fs::create_dir(&folder).unwrap();
    assert_eq!(write(&folder, None, b"new").unwrap_err()[0].code, Code::Io);
    assert_eq!(names(directory.path()), ["folder"]);
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, i64)> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path)
        .ok()
        .map(|metadata| (metadata.ino(), metadata.mtime_nsec()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path)
        .ok()
        .and_then(|metadata| metadata.modified().ok())
}

#[test]
fn an_interrupt_waits_for_all_writes() {
    let (first, second) = (hold_off_interrupts(), hold_off_interrupts());
    let (sender, receiver) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let _alone = wait_for_writes();
        sender.send(()).unwrap();
    });
    drop(first);
    assert!(
        receiver.recv_timeout(Duration::from_millis(50)).is_err(),
        "it has not waited for the second"
    );
    drop(second);
    receiver.recv().unwrap();
    waiting.join().unwrap();
}

#[cfg(unix)]
mod locks {
    use super::*;

    #[test]
    fn a_file_that_changes_while_a_process_waits_is_not_replaced() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("lock");
        fs::write(&path, "old").unwrap();
        let first = Reserved::wait(&path).unwrap();
        let second = thread::spawn({
            let path = path.clone();
            move || write(&path, Some(b"old"), b"second")
        });
        assert!(!second.is_finished());
        first.replace(Some(b"old"), b"first", Access::Kept).unwrap();
        drop(first);
        assert_eq!(
            second.join().unwrap().unwrap_err()[0].code,
            Code::FileChanged
        );
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }

    #[test]
    fn writers_of_one_file_take_turns() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("lock");
        fs::write(&path, "").unwrap();
        let written: usize = thread::scope(|scope| {
            let writers: Vec<_> = (0..8u8)
                .map(|writer| {
                    let path = &path;
                    scope.spawn(move || {
                        let append = |_: &u8| {
                            let old = fs::read(path).unwrap();
                            write(path, Some(&old), &[old.as_slice(), &[writer]].concat()).is_ok()
                        };
                        (0..50).filter(append).count()
                    })
                })
                .collect();
            writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .sum()
        });
        assert_eq!(
            fs::read(&path).unwrap().len(),
            written,
            "what was written was lost"
        );
        assert_eq!(names(directory.path()), ["lock"]);
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let directory = tempdir().unwrap();
        let path = directory.path().join(".terraform.lock.hcl");
        let left_over = directory.path().join(".terraform.lock.hcl.provlock-a1B2c3");
        let others = [
            ".main.tf.provlock-a1B2c3",
            ".terraform.lock.hcl.mine",
            ".terraform.lock.hcl.provlock-my_own",
            ".terraform.lock.hcl.provlock-old",
        ];
        for name in others {
            fs::write(directory.path().join(name), "").unwrap();
        }
        fs::write(&left_over, "").unwrap();
        write(&path, None, b"new").unwrap();
        let expected: Vec<_> = [others[0], ".terraform.lock.hcl"]
            .into_iter()
            .chain(others[1..].iter().copied())
            .collect();
        assert_eq!(names(directory.path()), expected);
        // Also beside an unchanged file, unless another process replaces a file there now.
        fs::write(&left_over, "").unwrap();
        let lock = DirectoryLock::take(directory.path());
        remove_left_over(&path);
        assert_eq!(left_over.exists(), lock.is_some());
        drop(lock);
        remove_left_over(&path);
        assert_eq!(names(directory.path()), expected);
    }
}

/// The system decides which access control list a new file gets.
#[cfg(windows)]
#[test]
fn a_read_only_file_is_not_replaced() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("lock");
    let set_read_only = |read_only| {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(read_only);
        fs::set_permissions(&path, permissions).unwrap();
    };
    fs::write(&path, "old").unwrap();
    set_read_only(true);
    let error = write(&path, Some(b"old"), b"new").unwrap_err();
    assert!(error[0].message.ends_with("it is read-only"), "{error}");
    assert_eq!(
        (fs::read(&path).unwrap(), names(directory.path())),
        (b"old".to_vec(), vec!["lock".to_owned()])
    );
    set_read_only(false);
    write(&path, Some(b"old"), b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

/// Other programs open files so that they can be replaced meanwhile, as this one does.
#[test]
fn a_file_is_replaced_while_it_is_open() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("lock");
    fs::write(&path, "old").unwrap();
    let mut open = open(&path).unwrap();
    write(&path, Some(b"old"), b"new").unwrap();
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(
        (text.as_str(), fs::read(&path).unwrap()),
        ("old", b"new".to_vec())
    );
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::process::Command;

    use super::*;

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("lock");
        for mode in [0o600, 0o664, 0o755, 0o444] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            write(&path, Some(b"old"), b"new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn new_file_has_the_mode_of_any_new_file() {
        let directory = tempdir().unwrap();
        let (path, other) = (
            directory.path().join("lock"),
            directory.path().join("other"),
        );
        write(&path, None, b"new").unwrap();
        fs::write(&other, "").unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().mode(),
            fs::metadata(&other).unwrap().mode()
        );
    }

    #[test]
    fn symlinks_stay() {
        let directory = tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("shared")).unwrap();
        fs::write(at("shared/lock"), "old").unwrap();
        symlink("shared/second", at("first")).unwrap();
        symlink("lock", at("shared/second")).unwrap();
        write(&at("first"), Some(b"old"), b"new").unwrap();
        assert_eq!(fs::read(at("shared/lock")).unwrap(), b"new");
        assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());
        assert!(
            fs::symlink_metadata(at("shared/second"))
                .unwrap()
                .is_symlink()
        );
        assert_eq!(names(&at("shared")), ["lock", "second"]);
        assert_eq!(names(directory.path()), ["first", "shared"]);
    }

    #[test]
    fn symlink_to_nothing_and_in_a_circle() {
        let directory = tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        symlink("target", at("link")).unwrap();
        write(&at("link"), None, b"new").unwrap();
        assert_eq!(fs::read(at("target")).unwrap(), b"new");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        symlink("circle", at("circle")).unwrap();
        assert!(read(&at("circle"), 1).is_err());
        assert_eq!(
            write(&at("circle"), None, b"new").unwrap_err()[0].code,
            Code::Io
        );
    }

    #[test]
    fn special_files_are_refused_without_waiting() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        assert!(
            read(&path, 1)
                .unwrap_err()
                .to_string()
                .contains("regular file")
        );
    }
}
