"""The books of the pool: a page is live, cached or free; none leaks, none shared is written."""

import random
from dataclasses import dataclass

import pytest

from apps.engine.errors import PoolFull
from apps.engine.pool import Pool, Table

PAGE = 4
ARTEFACT = b"one"


def pool(pages: int) -> Pool:
    return Pool(pages, PAGE, ARTEFACT)


def run(books: Pool, prompt: list[int], made: list[int], session: str = "") -> Table:
    """A whole sequence but its end."""
    tokens = prompt + made
    table = books.open(prompt, len(tokens), session)
    books.extend(table, len(tokens) - table.length)
    books.commit(table, tokens[table.length :])
    return table


def test_a_sequence_gets_pages_as_it_grows_and_leaves_its_full_ones_cached() -> None:
    books = pool(8)
    table = books.open([1, 2, 3, 4, 5], 9)
    books.extend(table, 5)
    assert len(table.pages) == 2
    books.commit(table, [1, 2, 3, 4, 5])
    usage = books.usage()
    assert (usage.live, usage.cached, usage.free, usage.filled) == (2, 0, 6, 5)
    assert usage.fragmentation == pytest.approx(3 / 8)
    books.close(table)
    usage = books.usage()
    assert (usage.live, usage.cached, usage.free, usage.filled) == (0, 1, 7, 4)


def test_a_beginning_is_found_by_its_exact_tokens_up_to_a_whole_page() -> None:
    books = pool(8)
    books.close(run(books, [1, 2, 3, 4, 5, 6, 7, 8], [9]))
    assert books.open([1, 2, 3, 4, 5, 6, 7, 8, 1], 9).length == 8
    assert books.open([1, 2, 3, 4, 5, 6, 7, 0, 1], 9).length == 4
    assert books.open([1, 2, 3, 0, 5, 6, 7, 8, 1], 9).length == 0


def test_the_last_token_of_a_prompt_is_always_computed() -> None:
    books = pool(8)
    books.close(run(books, [1, 2, 3, 4], [9]))
    assert books.open([1, 2, 3, 4], 5).length == 0
    assert books.open([1, 2, 3, 4, 9], 5).length == 4


def test_another_artefact_shares_nothing() -> None:
    keys = []
    for artefact in (b"one", b"two"):
        books = Pool(8, PAGE, artefact)
        keys += run(books, [1, 2, 3, 4], [5]).keys
    assert keys[0] != keys[1]


def test_a_session_that_comes_back_goes_on_in_its_own_last_page() -> None:
    books = pool(8)
    books.close(run(books, [1, 2, 3, 4, 5], [6]), "a")
    assert books.open([1, 2, 3, 4, 5, 6, 7], 9, "b").length == 4
    table = books.open([1, 2, 3, 4, 5, 6, 7], 9, "a")
    assert (table.length, table.tail) == (6, [5, 6])
    books.extend(table, 1)
    assert len(table.pages) == 2


def test_a_session_that_comes_back_twice_at_once_writes_to_two_pages() -> None:
    books = pool(8)
    books.close(run(books, [1, 2, 3, 4, 5], [6]), "a")
    tables = [books.open([1, 2, 3, 4, 5, 6, 7], 9, "a") for _ in range(2)]
    for table in tables:
        books.extend(table, 1)
    assert [table.length for table in tables] == [6, 4]
    assert tables[0].pages[1] != tables[1].pages[1]


def test_a_session_that_says_something_else_keeps_only_whole_pages() -> None:
    books = pool(8)
    books.close(run(books, [1, 2, 3, 4, 5], [6]), "a")
    assert books.open([1, 2, 3, 4, 5, 0, 7], 9, "a").length == 4


def test_a_shared_page_is_counted_once_and_outlives_its_first_user() -> None:
    books = pool(8)
    first = run(books, [1, 2, 3, 4], [5])
    second = run(books, [1, 2, 3, 4], [6])
    assert first.pages[0] == second.pages[0]
    assert books.usage().shared == 1
    assert books.usage().live == 3
    books.close(first)
    assert books.usage().live == 2


def test_the_same_page_computed_twice_is_kept_once() -> None:
    books = pool(8)
    tables = [books.open([1, 2, 3, 4, 5], 6) for _ in range(2)]
    for table in tables:
        books.extend(table, 5)
    for table in tables:
        books.commit(table, [1, 2, 3, 4, 5])
    assert tables[0].pages[0] == tables[1].pages[0]
    assert tables[0].pages[1] != tables[1].pages[1]
    assert books.usage().live == 3


def test_what_others_compute_meanwhile_is_found_at_the_next_page_border() -> None:
    books = pool(8)
    prompt = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    late = books.open(prompt, 9)
    run(books, prompt, [])
    books.look_again(late, prompt)
    assert (late.length, len(late.pages)) == (8, 2)


def test_the_least_recently_used_goes_first_and_its_last_page_before_its_first() -> None:
    books = pool(4)
    books.close(run(books, [1, 2, 3, 4, 5, 6, 7, 8], []))
    books.close(run(books, [9, 9, 9, 9], []))
    books.close(run(books, [5, 5, 5, 5], [5]))  # takes the free page and one more
    assert books.open([1, 2, 3, 4, 5, 6, 7, 8, 9], 9).length == 4


def test_a_full_pool_of_live_sessions_refuses_and_changes_nothing() -> None:
    books = pool(4)
    live = run(books, [1, 2, 3, 4, 5, 6, 7, 8], [])
    before = (books.usage(), books.looked_up, books.found)
    with pytest.raises(PoolFull, match="3 pages are needed, 2 of 4 are not promised"):
        books.open([7] * 9, 9)
    assert (books.usage(), books.looked_up, books.found) == before
    books.close(live)
    assert books.open([7] * 9, 9)


def test_a_promise_counts_before_the_pages_are_taken() -> None:
    books = pool(4)
    books.open([1], 16)
    with pytest.raises(PoolFull):
        books.open([1], 1)


def test_a_shared_beginning_makes_room_for_one_more() -> None:
    books = pool(4)
    for last in (5, 6, 7):
        run(books, [1, 2, 3, 4, last], [])
    with pytest.raises(PoolFull):
        books.open([8], 1)


@dataclass
class Live:
    table: Table
    tokens: list[int]
    prompt: int
    session: str


class World:
    """Random sequences on a pool, and a memory that knows what each page must hold."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pool = pool(self.random.choice([6, 13, 40]))
        self.memory = [[-1] * PAGE for _ in range(self.pool.pages)]
        self.live: list[Live] = []
        self.refused = 0

    def begin(self) -> None:
        common = [[1] * 9, [1] * 6 + [2] * 7, [3] * 5][self.random.randrange(3)]
        prompt = common[: self.random.randint(1, 9)]
        prompt += [self.random.randrange(5) for _ in range(self.random.randint(0, 9))]
        made = [self.random.randrange(5) for _ in range(self.random.randint(1, 12))]
        session = self.random.choice(["", "a", "b", "c", "d"])
        try:
            table = self.pool.open(prompt, len(prompt) + len(made) - 1, session)
        except PoolFull:
            self.refused += 1
            return
        assert table.length < len(prompt)
        self.live.append(Live(table, prompt + made, len(prompt), session))
        self.check_memory(self.live[-1])

    def go_on(self) -> None:
        one = self.random.choice(self.live)
        if one.table.length < one.prompt:
            self.pool.look_again(one.table, one.tokens[: one.prompt])
            self.check_memory(one)
        count = min(self.random.randint(1, 6), len(one.tokens) - 1 - one.table.length)
        if count < 1:
            self.finish(one)
            return
        start = one.table.length
        self.pool.extend(one.table, count)
        for place in range(start, start + count):
            page = one.table.pages[place // PAGE]
            users = sum(page in other.table.pages for other in self.live)
            assert users == 1, "a shared page is written"
            self.memory[page][place % PAGE] = one.tokens[place]
        if self.random.random() < 0.05:
            self.finish(one)  # stopped in the middle of a step: nothing is committed
            return
        self.pool.commit(one.table, one.tokens[start : start + count])
        self.check_memory(one)

    def finish(self, one: Live) -> None:
        self.live.remove(one)
        self.pool.close(one.table, one.session)

    def check_memory(self, one: Live) -> None:
        pages = one.table.pages
        held = [self.memory[pages[i // PAGE]][i % PAGE] for i in range(one.table.length)]
        assert held == one.tokens[: one.table.length]

    def check_books(self) -> None:
        usage = self.pool.usage()
        used = {page for one in self.live for page in one.table.pages}
        assert usage.live == len(used)
        assert usage.live + usage.cached + usage.free == self.pool.pages
        assert 0 <= usage.filled <= usage.used * PAGE
        assert usage.shared == sum(
            sum(page in one.table.pages for one in self.live) > 1 for page in used
        )
        promised = sum(one.table.room - len(one.table.pages) for one in self.live)
        assert usage.live + promised <= self.pool.pages


@pytest.mark.parametrize("seed", range(40))
def test_on_any_trace_the_books_are_right_and_no_page_holds_anothers_tokens(seed: int) -> None:
    world = World(seed)
    for _ in range(600):
        if world.live and world.random.random() < 0.8:
            world.go_on()
        else:
            world.begin()
        world.check_books()
    for one in list(world.live):
        world.check_memory(one)
        world.finish(one)
    world.check_books()
    assert world.pool.usage().live == 0
    whole = world.pool.pages * PAGE
    assert world.pool.open([0], whole).room == world.pool.pages, "pages leaked"


def test_the_random_traces_reach_refusals_and_hits() -> None:
    worlds = [World(seed) for seed in range(6)]
    for world in worlds:
        for _ in range(300):
            world.go_on() if world.live and world.random.random() < 0.7 else world.begin()
    assert sum(world.refused for world in worlds) > 10
    assert sum(world.pool.found for world in worlds) > 100
