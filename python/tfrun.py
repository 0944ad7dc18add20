"""What `carillon tfrun SCRIPT ARGS` starts: the script, with the bridge to Carillon in place of `import tensorflow`."""

import sys

from carillon_tf1 import runner

if __name__ == "__main__":
    runner.main(sys.argv[1:])
