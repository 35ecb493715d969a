"""What surveys in several rounds share: a round's document, and a series of rounds that leads from one to the next."""
