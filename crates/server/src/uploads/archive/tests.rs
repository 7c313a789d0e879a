use std::io::Cursor;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const LIMITS: Limits = Limits { bytes: 1 << 20, entries: 100 };

fn head() -> Head {
    Head {
        reference: "refs/uploads/1".into(),
        author: "Ada".into(),
        email: "ada@example.org".into(),
        seconds: 7,
        message: "Upload of shop".into(),
    }
}

/// An entry as any program could write it.
fn entry(kind: u8, name: &str, target: &str, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    let old = header.as_old_mut();
    old.name[..name.len()].copy_from_slice(name.as_bytes());
    old.linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(EntryType::new(kind));
    header.set_mode(0o755);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
    [header.as_bytes().as_slice(), content, &padding].concat()
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    entry(b'0', name, "", content)
}

fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), vec![0; 1024]].concat()
}

fn converted(tar: Vec<u8>) -> std::result::Result<String, String> {
    let mut to = Vec::new();
    convert(Cursor::new(tar), LIMITS, &head(), &mut to).map_err(|problem| problem.to_string())?;
    Ok(String::from_utf8(to).unwrap())
}

fn complaint(entries: &[Vec<u8>]) -> String {
    converted(tar(entries)).expect_err("it is refused")
}

#[test]
fn what_is_taken() {
    let attributes = entry(b'x', "PaxHeaders/1", "", b"16 path=\xc3\xa4/long\n");
    let text = converted(tar(&[
        entry(b'g', "pax_global_header", "", b"13 comment=x\n"),
        entry(b'5', "./", "", b""),
        entry(b'5', "./a/", "", b""),
        file("./a/run", b"hello"),
        entry(b'2', "a/link", "../b", b""),
        attributes,
        file("short", b""),
        entry(b'L', "././@LongLink", "", b"a/very/long\0"),
        file("short", b"x"),
        entry(b'1', "again", "a/run", b""),
    ]));
    let expected = [
        "feature done\ncommit refs/uploads/1\ncommitter Ada <ada@example.org> 7 +0000\ndata 14\nUpload of shop\n",
        "M 100755 inline \"a/run\"\ndata 5\nhello\n",
        "M 120000 inline \"a/link\"\ndata 4\n../b\n",
        "M 100755 inline \"\\303\\244/long\"\ndata 0\n\n",
        "M 100755 inline \"a/very/long\"\ndata 1\nx\n",
        "C \"a/run\" \"again\"\n",
        "done\n",
    ];
    assert_eq!(text.unwrap(), expected.concat());
}

#[test]
fn packed_ones_are_the_same() {
    let plain = tar(&[file("a", b"hello")]);
    let expected = converted(plain.clone()).unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&plain).unwrap();
    let gzip = packed.finish().unwrap();
    let zstd = zstd::encode_all(plain.as_slice(), 3).unwrap();
    for packed in [gzip, zstd] {
        assert_eq!(converted(packed.clone()).unwrap(), expected);
        for cut in [5, packed.len() / 2] {
            assert!(converted(packed[..cut].to_vec()).is_err(), "{cut}");
        }
    }
}

#[test]
fn what_is_refused_says_which_entry_and_why() {
    let link = |name: &str, target: &str| entry(b'2', name, target, b"");
    let sparse = entry(b'x', "p", "", b"26 GNU.sparse.name=zeroes\n");
    for (entries, expected) in [
        (vec![file("../out", b"")], "\"../out\" leads out of the folder"),
        (vec![file("a/../../out", b"")], "leads out of the folder"),
        (vec![file("/etc/passwd", b"")], "\"/etc/passwd\" has an absolute path"),
        (vec![file("a/.git/config", b"")], "\"a/.git/config\" is git's own"),
        (vec![file(".GIT::$DATA", b"")], "is git's own"),
        (vec![link("link", "/etc")], "\"link\" is a symbolic link that leads out"),
        (vec![link("a/link", "../..")], "is a symbolic link that leads out"),
        (vec![link("link", "."), file("link/x", b"")], "\"link/x\" is inside of what is no folder"),
        (vec![file("a", b""), file("a", b"")], "\"a\" is in the tar twice"),
        (vec![entry(b'1', "b", "a", b"")], "\"b\" is a hard link to what is no file before it"),
        (vec![entry(b'1', "b", "/etc/passwd", b"")], "is a link to what has an absolute path"),
        (vec![link("a", "b"), entry(b'1', "x/y", "a", b"")], "is a hard link to what is no file"),
        (vec![entry(b'3', "null", "", b"")], "\"null\" is a device"),
        (vec![entry(b'4', "sda", "", b"")], "\"sda\" is a device"),
        (vec![entry(b'6', "pipe", "", b"")], "\"pipe\" is a pipe"),
        (vec![entry(b'S', "zeroes", "", b"")], "is a sparse file"),
        (vec![sparse, file("a", b"")], "belongs to a sparse file"),
        (vec![entry(b'Z', "odd", "", b"")], "is neither a file nor a folder nor a link"),
        (vec![entry(b'x', "p", "", b"10 size=9\n"), file("a", b"")], "not understood"),
        (vec![entry(b'x', "p", "", b"99 path=a\n"), file("a", b"")], "not understood"),
        (vec![entry(b'L', "l", "", &[b'x'; 70_000]), file("a", b"")], "more than 64 KiB"),
        (vec![entry(b'5', "a", "", b"")], "has no files in it"),
        (vec![file("large", &[0; 2 << 20])], "is larger than 1 MiB when it is unpacked"),
        ((0..101).map(|number| file(&number.to_string(), b"")).collect(), "\"100\" is one too many"),
    ] {
        let problem = complaint(&entries);
        assert!(problem.contains(expected), "{expected}: {problem}");
    }
}

#[test]
fn what_is_no_tar() {
    for (bytes, expected) in [
        (b"".to_vec(), "has no files"),
        (b"hello".to_vec(), "is no tar"),
        (vec![b'x'; 2000], "is no tar"),
        (b"\x1f\x8bnonsense".to_vec(), "is no tar"),
        (b"\x28\xb5\x2f\xfdnonsense".to_vec(), "is no tar"),
        (file("a", &[1; 2000])[..1500].to_vec(), "\"a\" is cut off"),
        // Between two entries, and after both but before the zeros at the end.
        (tar(&[file("a", b"x"), file("b", b"y")])[..1024].to_vec(), "ends before it is complete"),
        ([file("a", b"x"), file("b", &[0; 1024])].concat(), "ends before it is complete"),
    ] {
        let problem = converted(bytes).unwrap_err();
        assert!(problem.contains(expected), "{expected}: {problem}");
    }
}

/// A kilobyte that stands for a gigabyte.
#[test]
fn bombs() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let header = &file("zeroes", b"")[..512];
    let mut large = Header::from_byte_slice(header).clone();
    large.set_size(1 << 30);
    large.set_cksum();
    packed.write_all(large.as_bytes()).unwrap();
    for _ in 0..64 {
        packed.write_all(&[0; 1 << 20]).unwrap();
    }
    let problem = converted(packed.finish().unwrap()).unwrap_err();
    assert!(problem.contains("is larger than 1 MiB when it is unpacked"), "{problem}");
}
