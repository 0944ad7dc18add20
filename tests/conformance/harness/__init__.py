import logging
import pathlib
import sys

logging.getLogger("tensorflow").setLevel(logging.ERROR)  # it warns of every TensorFlow 1.x function
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))  # what all tests share
