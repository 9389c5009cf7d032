"""Both examples, one after the other: `make demo`. Exits with 1 where a claim does not hold."""

import sys

import digits
import softmax_gradient

if __name__ == "__main__":
    results = [softmax_gradient.main(), digits.main()]
    sys.exit(not all(results))
