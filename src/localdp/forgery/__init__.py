"""What forged reports can do, and how they are noticed.

`fake_users` says how far a forged report moves an item, `plausibility` tests a batch of reports, and `uploads` tests
very many uploads at once. The laws that they use are methods of mechanisms (`localdp.mechanisms.laws`).
"""
