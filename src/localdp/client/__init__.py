"""One device that reports its value: permanent responses, a budget that lasts, and an outbox for what is not sent yet.

    client      `Client`: a plan or a study, a store, and from a value to a batch of one report
    permanent   how it answers under a plan: again and again, from permanent responses
    one_part    how it answers in a study of several parts: once
    one_answer  that one answer on the disk
    secret      keys and digests, derived from a secret of the device
    diary       what was answered and when, and whether the owner has opted out
    periods     days, weeks, months and years
    budget      what the device has spent, and the cap
    store       the files of the device, in two copies, safe against crashes and other processes
    record      the bytes of such a file
    lock        one process at a time
    post        what is fetched from the collector, and what is sent to it
    addresses   the routes of the collector
    outbox      all reports that wait to be sent
    plan_outbox those of one plan
    wording     the question and the labels that people read
    pauses      how long to wait after a failure
    upload      where reports are sent to, and what a server answers
    http_post   one HTTP request with a deadline
    private_files  files that only their owner can read, and that survive a crash

`docs/client.md` is the how-to. It also says what happens when a device is asked twice, when its store is lost, and when
the cap is reached.
"""

from localdp.client.client import Client
from localdp.client.outbox import Delivery
from localdp.client.wording import Wording

__all__ = ["Client", "Delivery", "Wording"]
