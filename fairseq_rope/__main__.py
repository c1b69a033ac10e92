"""`python -m fairseq_rope` prints the folder to give to fairseq's --user-dir; with a command it is `fairseq-rope`."""

import sys
from pathlib import Path

from fairseq_rope_data.__main__ import main

if len(sys.argv) > 1:
    main()
else:
    print(Path(__file__).parent)
