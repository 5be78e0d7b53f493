"""`python -m apps.pipeline`: run Triton and answer the kubelet's questions about it."""

import sys

from apps.pipeline.supervisor import main

sys.exit(main())
