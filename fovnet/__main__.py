"""`python -m fovnet`."""

from fovnet.cli import main

if __name__ == "__main__":
    main()
