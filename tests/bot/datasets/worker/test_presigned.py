"""Pushes from a computer without keys, by requests that a worker signs, on a real store."""

import random
import re
from dataclasses import replace
from datetime import timedelta

import pytest
import urllib3

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.parts import PART_BYTES
from bot.datasets.worker.presigned.messages import FolderListing
from bot.datasets.worker.presigned.receiving import Received
from bot.datasets.worker.presigned.sending import Sent
from bot.datasets.worker.stores.presigned import ListedFile, Piece
from tests.bot.datasets.worker.computers import Computer
from tests.bot.datasets.worker.proxy import Exchange, proxied
from tests.bot.datasets.worker.pushes import Folder

IN_THE_WAY = (
    (
        "c/three is already in the store with different content (1 bytes in the store, 3000 in"
        " the folder)."
    ),
    "Push to another prefix, or use --overwrite if no version needs the existing object.",
    ("c/three",),
)
ONE = Piece("c4ca4238a0b923820dcc509a6f75849b", "6b86b273ff34fce19d6b804eff5a3f57"
            "47ada4eaa22f1d49c01e52ddb7875b4b")  # fmt: skip


@pytest.fixture
def computer(folder: Folder) -> Computer:
    """A computer with a few small files."""
    return Computer(folder)


def test_files_arrive_without_keys_of_the_store(computer: Computer) -> None:
    with computer.received() as worker:
        sent = computer.push(worker.grant())
        received = worker.result.result(10)
        left = worker.left()
    folder = computer.folder
    assert folder.stored() == folder.files()
    assert sent == Sent(files=5, bytes=6001, uploaded_bytes=6001, links=0)
    assert received == Received(
        files=5,
        bytes=6001,
        copied_files=5,
        copied_bytes=6001,
        links=0,
        others=0,
        verified_by={"md5": 5},
        verified_bytes={"md5": 6001},
    )
    # A record with the SHA-256 of every file stays; the grant does not.
    assert left == ["answer.json.gz", "files.json.gz", "listing.json.gz"]


def test_large_files_arrive_in_parts(computer: Computer, chance: random.Random) -> None:
    sizes = {"whole": PART_BYTES, "two": PART_BYTES + 1, "three": 2 * PART_BYTES + 9}
    computer.folder.write({name: chance.randbytes(size) for name, size in sizes.items()})
    with computer.received() as worker:
        computer.push(worker.grant())
        assert worker.result.result(10).verified_by == {"md5": 8}
    folder = computer.folder
    assert (folder.stored() == folder.files(), folder.unfinished()) == (True, [])


def test_second_push_uploads_nothing_again(computer: Computer) -> None:
    computer.folder.lake.put(computer.folder.bucket, {"others/x": b"x"})
    for uploaded, copied in ((6001, 5), (0, 0)):
        with computer.received() as worker:
            assert computer.push(worker.grant()).uploaded_bytes == uploaded
            received = worker.result.result(10)
            assert (received.copied_files, received.others) == (copied, 1)


def test_what_arrived_of_a_large_file_is_kept(computer: Computer, chance: random.Random) -> None:
    folder = computer.folder
    folder.write({"large": chance.randbytes(3 * PART_BYTES)})

    def cut(exchange: Exchange) -> None:
        if "partNumber=3" in exchange.path:
            exchange.answer(500, "InternalError")

    with proxied(folder.lake.server.endpoint, before=cut) as proxy:
        with computer.received(public=proxy.endpoint) as worker:
            with pytest.raises(WorkError) as failed:
                computer.push(worker.grant())
            assert failed.value.message == "The object store is too busy: 500 InternalError."
        assert folder.unfinished() == ["set/large"]
    with proxied(folder.lake.server.endpoint) as proxy:
        with computer.received(public=proxy.endpoint) as worker:
            # The two parts that arrived, and the small files, are not uploaded again.
            assert computer.push(worker.grant()).uploaded_bytes == PART_BYTES
            worker.result.result(10)
        assert len([each for each in proxy.exchanges if "partNumber" in each.path]) == 1
    assert (folder.stored() == folder.files(), folder.unfinished()) == (True, [])


def test_lost_answers_of_uploads_change_nothing(computer: Computer, chance: random.Random) -> None:
    folder, lost = computer.folder, set[str]()
    folder.write({"large": chance.randbytes(PART_BYTES + 1)})

    def lose(exchange: Exchange) -> None:
        if exchange.method == "PUT" and exchange.path not in lost:
            lost.add(exchange.path)
            exchange.lose()

    with (
        proxied(folder.lake.server.endpoint, after=lose) as proxy,
        computer.received(public=proxy.endpoint) as worker,
    ):
        computer.push(worker.grant())
        worker.result.result(10)
    # The listing, five small files and two parts: each was lost once.
    assert (folder.stored() == folder.files(), len(lost)) == (True, 8)


def test_lost_answers_of_the_worker_change_nothing(
    computer: Computer, chance: random.Random
) -> None:
    folder, lost = computer.folder, set[tuple[str, str]]()
    folder.write({"large": chance.randbytes(PART_BYTES + 1)})

    def lose(exchange: Exchange) -> None:
        key = (exchange.method, exchange.path)
        # A new upload is not begun twice by itself: the next round finds the first one.
        if key not in lost and "uploads=" not in exchange.path.replace("uploads%2F", ""):
            lost.add(key)
            exchange.lose()

    with proxied(folder.lake.server.endpoint, after=lose) as proxy:
        slow = replace(computer, endpoint=proxy.endpoint)
        with slow.received(public=folder.lake.server.endpoint) as worker:
            computer.push(worker.grant())
            worker.result.result(10)
    assert ("POST" in {method for method, _ in lost}, folder.stored()) == (True, folder.files())
    assert folder.unfinished() == []


def test_a_request_takes_only_the_listed_bytes(computer: Computer) -> None:
    with computer.received() as worker:
        answer = worker.tell(FolderListing("1", (ListedFile("one", 1, (ONE,)),)))
        (wanted,) = answer.files
        (piece,) = wanted.pieces
        url, headers = piece.url, piece.headers
        pool = urllib3.PoolManager()
        statuses = [
            pool.request("PUT", url, body=body, headers=sent).status
            for body, sent in ((b"2", headers), (b"1", {}), (b"1", headers), (b"1", headers))
        ]
        other = url.replace("set/one", "set/two")
        statuses.append(pool.request("PUT", other, body=b"1", headers=headers).status)
        pool.clear()
    # Other bytes, no checksum, the file, the file once more, and another name.
    assert (wanted.key, statuses) == ("one", [400, 403, 200, 412, 403])
    assert computer.folder.stored() == {"one": b"1"}


def test_many_files_are_asked_for_in_turns(computer: Computer) -> None:
    computer.folder.write({f"many/{number}": b"%d" % number for number in range(150)})
    with computer.received(at_once=1) as worker:
        assert computer.push(worker.grant()).files == 155
        assert worker.result.result(10).copied_files == 155
    assert computer.folder.stored() == computer.folder.files()


def test_expired_requests_are_asked_for_again(computer: Computer) -> None:
    folder, expired = computer.folder, set[str]()

    def expire(exchange: Exchange) -> None:
        key = exchange.path.partition("?")[0]
        if "/set/" in key and key not in expired:
            expired.add(key)
            exchange.answer(403, "AccessDenied")

    with (
        proxied(folder.lake.server.endpoint, before=expire) as proxy,
        computer.received(public=proxy.endpoint) as worker,
    ):
        assert computer.push(worker.grant()).uploaded_bytes == 6001
        worker.result.result(10)
    assert (folder.stored() == folder.files(), len(expired)) == (True, 5)


def test_a_store_that_refuses_everything_is_named(computer: Computer) -> None:
    def refuse(exchange: Exchange) -> None:
        if "/set/" in exchange.path:
            exchange.answer(403, "AccessDenied")

    with (
        proxied(computer.folder.lake.server.endpoint, before=refuse) as proxy,
        computer.received(public=proxy.endpoint) as worker,
        pytest.raises(WorkError) as failed,
    ):
        computer.push(worker.grant())
    assert (failed.value.message, failed.value.hint) == (
        "5 files do not arrive in the store. Its last refusal: 403 AccessDenied.",
        ("Check the clock of this computer and of the store. Files that have arrived stay. Repeat"
        " the command to push the rest."),
    )  # fmt: skip


def test_other_etags_are_verified_by_checksums(computer: Computer) -> None:
    """As with keys of KMS, where ETags are not MD5s."""
    folder = computer.folder

    def encrypt(exchange: Exchange) -> None:
        if "list-type=2" in exchange.path:
            hashes = re.compile(rb"[0-9a-f]{32}")
            exchange.body = hashes.sub(lambda found: found.group()[::-1], exchange.body)

    with proxied(folder.lake.server.endpoint, after=encrypt) as proxy:
        behind = replace(computer, endpoint=proxy.endpoint)
        with behind.received(public=folder.lake.server.endpoint) as worker:
            computer.push(worker.grant())
            assert worker.result.result(10).verified_by == {"checksum": 5}
    assert folder.stored() == folder.files()


def test_an_object_of_others_is_not_replaced(computer: Computer) -> None:
    folder = computer.folder
    folder.lake.put(folder.bucket, {"c/three": b"!"})
    with computer.received() as worker:
        with pytest.raises(WorkError) as failed:
            computer.push(worker.grant())
        assert (failed.value.message, failed.value.hint, failed.value.keys) == IN_THE_WAY
        assert folder.stored() == {"c/three": b"!"}
        # The person removes it and repeats the command with the same grant.
        folder.lake.client.delete_object(Bucket=folder.bucket, Key="set/c/three")
        computer.push(worker.grant())
        worker.result.result(10)
    assert folder.stored() == folder.files()


def test_overwriting_replaces_what_differs(computer: Computer) -> None:
    folder = computer.folder
    folder.lake.put(folder.bucket, {"c/three": b"!", "a/one": b"1" * 1000})
    with computer.received(overwrite=True) as worker:
        assert computer.push(worker.grant()).uploaded_bytes == 5001
        assert worker.result.result(10).copied_files == 4
    assert folder.stored() == folder.files()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ((), "There is no file in the folder."),
        (("../other/x",), "'../other/x' has the part '..' in its path."),
        (("/x",), "'/x' starts with /."),
        (("a\nb",), "'a\\nb' has a control character in its name."),
        (("a", "a"), "'a' is listed twice."),
    ],
)
def test_listings_out_of_bounds_are_refused(
    computer: Computer, files: tuple[str, ...], message: str
) -> None:
    with computer.received() as worker:
        listed = tuple(ListedFile(key, 1, (ONE,)) for key in files)
        answer = worker.tell(FolderListing("1", listed))
    assert answer.refusal is not None
    assert (answer.refusal.message, answer.files, answer.is_over) == (message, (), False)


def test_pieces_that_do_not_fit_are_refused(computer: Computer) -> None:
    with computer.received() as worker:
        answer = worker.tell(FolderListing("1", (ListedFile("x", PART_BYTES + 1, (ONE,)),)))
        assert answer.refusal is not None
        assert answer.refusal.message == "'x' has other pieces than its size requires."


def test_what_is_no_listing_is_refused(computer: Computer) -> None:
    with computer.received() as worker:
        worker.tell(FolderListing("1", (ListedFile("x", 1, (ONE,)),)))
        worker.client.write(f"{worker.box}listing.json.gz", b"no listing")
        answer = worker.answered(lambda each: each.refusal is not None)
        assert answer.refusal is not None
        assert (answer.refusal.message, answer.refusal.hint) == (
            "The listing of the files cannot be read: Not a gzipped file (b'no').",
            "Use the same version of quartermaster on the computer as the bot has.",
        )
        # The next one counts.
        assert computer.push(worker.grant()).files == 5


def test_another_pod_goes_on_where_it_was(computer: Computer) -> None:
    """As when a pod is killed after all has arrived, and before that was read."""
    with computer.received() as worker:
        computer.push(worker.grant())
        first, box = worker.result.result(10), worker.box
    with computer.received(box=box) as worker:
        again = worker.result.result(10)
    assert again == replace(first, copied_files=0, copied_bytes=0)


def test_a_stopped_push_says_so(computer: Computer) -> None:
    with computer.received() as worker:
        grant = worker.grant()
        worker.stopped.set()
        with pytest.raises(WorkError) as ended:
            worker.result.result(10)
        with pytest.raises(WorkError) as failed:
            computer.push(grant)
        left = worker.left()
    words = "The push was stopped, or its pod was moved to another node."
    assert (ended.value.reason, ended.value.message, failed.value.message) == (
        "store_down", words, words,
    )  # fmt: skip
    # The computer has written its listing after the end; the grant is gone.
    assert left == ["answer.json.gz", "listing.json.gz"]


def test_what_does_not_arrive_in_time_expires(computer: Computer) -> None:
    with computer.received(lasts=timedelta()) as worker:
        with pytest.raises(WorkError) as expired:
            worker.result.result(10)
        left = worker.left()
    assert (expired.value.reason, expired.value.exit_code, expired.value.message) == (
        "expired", 65, "Not all files arrived within 0 hours.",
    )  # fmt: skip
    assert left == ["answer.json.gz"]


def test_files_that_change_meanwhile_are_named(computer: Computer) -> None:
    folder = computer.folder

    def change(exchange: Exchange) -> None:
        if "listing" in exchange.path:
            folder.write({"c/three": b"!" * 3000})

    with (
        proxied(folder.lake.server.endpoint, before=change) as proxy,
        computer.received(public=proxy.endpoint) as worker,
        pytest.raises(WorkError) as failed,
    ):
        computer.push(worker.grant())
    assert (failed.value.reason, failed.value.message) == (
        "changed", "c/three changed while it was pushed.",
    )  # fmt: skip


def test_links_outside_the_folder_stay_outside(computer: Computer) -> None:
    outside = computer.folder.root.parent / "secret"
    outside.write_text("secret")
    (computer.folder.root / "link").symlink_to(outside)
    with computer.received() as worker:
        assert computer.push(worker.grant()).links == 1
        assert worker.result.result(10).links == 1
    assert "link" not in computer.folder.stored()
