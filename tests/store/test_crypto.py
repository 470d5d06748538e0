"""A sealed record opens under its purpose, its name and a key we hold, and under nothing else."""

import pytest

from app.errors import SealBroken
from app.store.crypto import Keys, Sealer, sealer_from_token

OLD, NEW = b"old secret, 32 bytes or more ...1", b"new secret, 32 bytes or more ...2"


def test_what_was_sealed_opens_again() -> None:
    sealer = Keys([NEW]).sealer("connection")

    assert sealer.open(sealer.seal(b"tokens", bound_to="conn:oura:ada"), bound_to="conn:oura:ada") == b"tokens"
    assert sealer.open(sealer.seal(b"", bound_to=""), bound_to="") == b""


def test_the_plain_text_is_not_in_the_record_and_two_seals_differ() -> None:
    sealer = Keys([NEW]).sealer("connection")

    one, two = (sealer.seal(b"refresh-token", bound_to="a") for _ in range(2))

    assert b"refresh-token" not in one
    assert one != two
    assert one[:1] == b"\x02"
    assert one[1:7].hex() == Keys([NEW]).ids[0]


def test_a_record_moved_to_another_name_does_not_open() -> None:
    sealer = Keys([NEW]).sealer("connection")
    sealed = sealer.seal(b"tokens", bound_to="conn:oura:ada")

    with pytest.raises(SealBroken):
        sealer.open(sealed, bound_to="conn:oura:grace")


def test_a_record_of_another_purpose_does_not_open_even_under_its_key() -> None:
    keys = Keys([NEW])
    sealed = keys.sealer("ab").seal(b"x", bound_to="c")

    for purpose, name in [("a", "bc"), ("abc", ""), ("signin", "c")]:
        with pytest.raises(SealBroken):
            keys.sealer(purpose).open(sealed, bound_to=name)


def test_a_purpose_binds_even_where_two_share_a_key() -> None:
    sealed = Sealer([b"k" * 32], "ab").seal(b"x", bound_to="c")

    for purpose, name in [("a", "bc"), ("b", "c"), ("", "abc")]:
        with pytest.raises(SealBroken):
            Sealer([b"k" * 32], purpose).open(sealed, bound_to=name)


@pytest.mark.parametrize(
    "at", [0, 1, 7, 18, 19, 26, -1], ids=["format", "key id", "nonce", "its end", "text", "middle", "tag"]
)
def test_a_record_with_one_bit_changed_does_not_open(at: int) -> None:
    sealer = Keys([NEW]).sealer("connection")
    sealed = bytearray(sealer.seal(b"tokens and more", bound_to="a"))

    sealed[at] ^= 1

    with pytest.raises(SealBroken):
        sealer.open(bytes(sealed), bound_to="a")


@pytest.mark.parametrize("length", [0, 1, 6, 7, 19, 34])
def test_a_record_cut_short_does_not_open(length: int) -> None:
    sealer = Keys([NEW]).sealer("connection")

    with pytest.raises(SealBroken):
        sealer.open(sealer.seal(b"tokens", bound_to="a")[:length], bound_to="a")


def test_the_first_secret_seals_and_former_ones_still_open() -> None:
    before, during, after = Keys([OLD]), Keys([NEW, OLD]), Keys([NEW])
    old_record = before.sealer("c").seal(b"1", bound_to="a")
    new_record = during.sealer("c").seal(b"2", bound_to="a")

    assert during.sealer("c").open(old_record, bound_to="a") == b"1"
    assert after.sealer("c").open(new_record, bound_to="a") == b"2"
    with pytest.raises(SealBroken, match="SECRET_KEY"):
        after.sealer("c").open(old_record, bound_to="a")
    with pytest.raises(SealBroken):
        before.sealer("c").open(new_record, bound_to="a")


def test_a_lost_key_is_named_by_an_id_that_is_not_the_key() -> None:
    lost, held = Keys([OLD]), Keys([NEW])
    record = lost.sealer("c").seal(b"1", bound_to="a")

    with pytest.raises(SealBroken, match=rf"key {lost.ids[0]}, .*holds {held.ids[0]}.*Nothing was erased") as broken:
        held.sealer("c").open(record, bound_to="a")

    assert broken.value.missing == lost.ids[0]
    assert lost.ids[0] in broken.value.public
    for derived in (lost.derive("c"), OLD):
        assert derived[:6].hex() != lost.ids[0]
    assert Keys([NEW, OLD]).ids == (held.ids[0], lost.ids[0])


def test_a_record_that_was_changed_is_not_blamed_on_a_missing_key() -> None:
    sealer = Keys([NEW]).sealer("c")
    record = sealer.seal(b"tokens", bound_to="a")

    with pytest.raises(SealBroken, match="changed, cut or moved") as broken:
        sealer.open(record[:-1] + bytes([record[-1] ^ 1]), bound_to="a")

    assert broken.value.missing is None


def test_a_record_from_before_ids_were_written_still_opens() -> None:
    old = Sealer([Keys([OLD]).derive("c")], "c").seal(b"1", bound_to="a")

    assert old[:1] == b"\x01"
    assert Keys([NEW, OLD]).sealer("c").open(old, bound_to="a") == b"1"
    with pytest.raises(SealBroken, match="id is not known"):
        Keys([NEW]).sealer("c").open(old, bound_to="a")


def test_derived_keys_differ_by_purpose_and_secret_and_are_not_the_secret() -> None:
    keys = Keys([NEW, OLD])

    derived = {keys.derive("cookie"), keys.derive("csrf"), Keys([OLD]).derive("cookie")}

    assert len(derived) == 3
    assert all(len(key) == 32 for key in derived)
    assert keys.derive_all("cookie") == (keys.derive("cookie"), Keys([OLD]).derive("cookie"))
    assert not derived & {NEW, OLD, NEW[:32], OLD[:32]}


def test_derivation_is_pinned_so_that_an_update_does_not_lock_anyone_out() -> None:
    assert Keys([b"k" * 32]).derive("connection").hex() == PINNED


def test_a_record_sealed_under_a_token_opens_with_that_token_alone() -> None:
    sealed = sealer_from_token("refresh-1", "replay").seal(b"answer", bound_to="refresh:1")

    assert sealer_from_token("refresh-1", "replay").open(sealed, bound_to="refresh:1") == b"answer"
    for token, purpose in [("refresh-2", "replay"), ("refresh-1", "other")]:
        with pytest.raises(SealBroken):
            sealer_from_token(token, purpose).open(sealed, bound_to="refresh:1")


def test_no_secret_is_no_keys() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Keys([])


# RFC 5869 computed apart from the library: HMAC(HMAC(0*32, b"k"*32), b"vitals/1/connection" + b"\x01").
PINNED = "e42901611569a1db2237fb2499dbdf7fbab5b1e55afd46b974e7fee7a3d454ef"
