"""What analysts are told: answers computed from aggregates, without HTTP and without SQL.

| asked | read | answered |
|---|---|---|
| estimates of a range of days | `EstimatesQuery.read(parameters)` | `EstimatesAnswer(query, fitted, released)` |
| the same for each segment | `by` of the same query | `SegmentsAnswer` |
| how items moved | `HistoryQuery.read(parameters)` | `answer_history(plan, blocks, query, minimum)` |
| what changed between two ranges | `DifferenceQuery.read(parameters)` | `DifferenceAnswer(...)` |
| how the prior fits the data | | `answer_prior(fitted)` |
| how far the plan has come | | `ProgressAnswer(plan, reports, minimum, ...)` |

The first four have `content()`, a JSON value in which arrays stand for lists, `table()`, and `rendered(format)`, which
gives the bytes. Fitting a prior takes most of the time. `Remembering()` is a `fit` that remembers.
"""
