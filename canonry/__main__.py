"""`python -m canonry` is the `canonry` command."""

from canonry.cli import run

if __name__ == "__main__":
    run()
