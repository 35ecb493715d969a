"""`python -m localdp` is the command `localdp`, for environments where scripts are not on the path."""

from localdp.cli import main

if __name__ == "__main__":
    main()
