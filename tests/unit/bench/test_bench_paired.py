"""The bound that the tracing bench reports."""

from tests.bench.paired import percentile, upper_bound


def test_the_bound_is_above_the_median_and_below_the_worst() -> None:
    ratios = [0.97, 0.99, 1.0, 1.01, 1.02, 1.02, 1.03, 1.05, 1.2]
    assert 1.02 <= upper_bound(ratios) <= 1.05
    assert upper_bound(ratios) == upper_bound(ratios)


def test_equal_ratios_leave_no_doubt() -> None:
    assert upper_bound([1.01] * 5) == 1.01


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(n) for n in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([3.0], 0.99)) == (
        51.0,
        100.0,
        3.0,
    )
