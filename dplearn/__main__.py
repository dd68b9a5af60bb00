"""Run the command line: python -m dplearn."""

import sys

from dplearn.commands import main

sys.exit(main())
