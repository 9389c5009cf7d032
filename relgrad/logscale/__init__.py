"""The log scale: signed logarithms, sign · e^log, and quotients of exponentials; what reads and writes them.

domain.py          terms as weight · e^exponent
logarithms.py      logarithms formed there
quotients.py       softmaxes, and other quotients by sums of exponentials
probabilities.py   entries and means of logarithms of softmaxes
deviations.py      sums against what sums to zero, as the pullback of a softmax does
"""
