"""Writes the tokens of llama-tokenizer.js (npm's llama-tokenizer-js), which Moonshine uses, one per line: vocabulary.py FILE."""
import base64
import re
import sys
from pathlib import Path

found = re.search(r'llama_vocab_base64 = "([^"]+)"', Path(sys.argv[1]).read_text())
if not found:
    sys.exit(f"{sys.argv[1]} has no vocabulary")
sys.stdout.buffer.write(base64.b64decode(found[1]) + b"\n")
