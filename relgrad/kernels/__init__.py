"""Stable functions that NumPy lacks, on arrays: generated programs import only this and NumPy.

All keep float32 and float64 (integers become float64), take ±inf, NaN and empty arrays, and emit no warnings.
The accuracy that each docstring states was measured against mpmath at 50 digits; the tests repeat the
measurement. Each module says in `__all__` what of it is exported.
"""

from relgrad.kernels.decided import *
from relgrad.kernels.differences import *
from relgrad.kernels.doubled import cancels as cancels
from relgrad.kernels.doubled import cancels_at as cancels_at
from relgrad.kernels.doubled import computed as computed
from relgrad.kernels.doubled import exponents_cancel as exponents_cancel
from relgrad.kernels.doubled import exponents_cancel_at as exponents_cancel_at
from relgrad.kernels.doubled import given as given
from relgrad.kernels.doubled import ill_conditioned as ill_conditioned
from relgrad.kernels.doubled import lost as lost
from relgrad.kernels.doubled import mixture_cancels as mixture_cancels
from relgrad.kernels.doubled import precise as precise
from relgrad.kernels.doubled import product_cancels as product_cancels
from relgrad.kernels.doubled import rounded as rounded
from relgrad.kernels.doubled import sum_cancels as sum_cancels
from relgrad.kernels.doubled import tied as tied
from relgrad.kernels.doubled import ties as ties
from relgrad.kernels.doubled import turns as turns
from relgrad.kernels.doubled import turns_at as turns_at
from relgrad.kernels.doubled import wider as wider
from relgrad.kernels.extended import extended_range as extended_range
from relgrad.kernels.gammas import *
from relgrad.kernels.incomplete import *
from relgrad.kernels.index import *
from relgrad.kernels.linalg import *
from relgrad.kernels.logexp import *
from relgrad.kernels.moments import *
from relgrad.kernels.near import *
from relgrad.kernels.normalize import *
from relgrad.kernels.pullback import *
from relgrad.kernels.relative import *
from relgrad.kernels.remainders import *
from relgrad.kernels.removable import *
from relgrad.kernels.roots import *
from relgrad.kernels.special import *
from relgrad.kernels.undefined import *
