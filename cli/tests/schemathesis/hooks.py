"""What the description of the API cannot say: the language of filters, the length of a store's vectors."""

import schemathesis
from hypothesis import strategies as st

FILTERS = [
    "year >= 1990",
    "content_type = code and page in 10..20",
    "not (collection = papers or user_id = ann)",
]
LEVELS = ["summary", "section", "paragraph", "proposition", "sentence", "citation"]

schemathesis.openapi.format("loci-filter", st.sampled_from(FILTERS))
schemathesis.openapi.format(
    "loci-levels",
    st.lists(st.sampled_from(LEVELS), min_size=1, unique=True).map(",".join),
)


def has_vector(value):
    """A vector has as many numbers as the store's space has dimensions, which no schema knows."""
    if isinstance(value, dict):
        return value.get("vector") is not None or any(map(has_vector, value.values()))
    return isinstance(value, list) and any(map(has_vector, value))


@schemathesis.hook
def filter_case(context, case):
    """Fields of a head that nobody knows are no mistake in HTTP."""
    fields = {name.lower() for name in case.headers or {}}
    return "x-schemathesis-unknown-property" not in fields and not has_vector(case.body)


def with_integers(value):
    """Programs write whole numbers without a point."""
    if isinstance(value, dict):
        return {name: with_integers(of) for name, of in value.items()}
    if isinstance(value, list):
        return [with_integers(of) for of in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_whole else value


@schemathesis.hook
def map_case(context, case):
    """A request that says it may take a millisecond is told 504, which is right: it is given more time."""
    case.body = with_integers(case.body)
    for name, value in list((case.headers or {}).items()):
        if name.lower() == "loci-timeout-ms" and str(value).isdecimal():
            if 0 < int(value) < 60_000:
                case.headers[name] = "60000"
    return case
