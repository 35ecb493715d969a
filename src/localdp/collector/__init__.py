"""The collector: takes uploads over HTTP, keeps them, counts them by day, and answers analysts.

The path of an upload, and where each step is written:

    HTTP (protocol, app, routes/)   limits on headers and bodies, problem documents, tokens, security headers
    reading (routes/uploads)        the body is read up to a limit, and every report in it is checked against the plan
    the writer (writer)             ONE thread takes all uploads that wait, stores them in one transaction (a group
                                    commit), and only then lets their requests answer 201
    storage/                        tables and SQL, for SQLite and PostgreSQL: one row for each upload
    folding (folding, forgery)      in the background, uploads are tested for forgery and added to the aggregate of
                                    their part and UTC day, in the transaction that marks them: each counts once
    studies                         rounds of discoveries and of surveys of sets are counted once, when they end, and
                                    lead to the next ones
    releases                        what readers see: blocks of whole days, after at least the minimum of new reports
    answers (cached by version)     what is released of a range of days is merged, estimated and calibrated

What holds at every moment, and what the tests and `make audit` check by killing the process:

- An upload that was answered with 2xx is on the disk, exactly once, whatever happens afterwards.
- The aggregates equal a recount of the stored uploads that are marked as counted (`audits/recount.py`).
- An upload id that comes again changes nothing. The answer does not depend on whether the bodies are the same, so ids
  cannot be used to find out what others sent.
- No address of a sender is stored or logged.

Only this folder imports HTTP and SQL libraries, which the extra `collector` brings. Why things are as they
are is in docs/decisions/0021-the-collector.md.
"""
