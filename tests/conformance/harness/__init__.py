import logging

logging.getLogger("tensorflow").setLevel(logging.ERROR)  # it warns of every TensorFlow 1.x function
