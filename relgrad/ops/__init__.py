"""The ops: one topic per module, one row per op. Importing this package makes all of them known to the tracer.

What is named here is what authors of relations and callers use beyond NumPy; each module says it in `__all__`.
"""

import importlib
import pkgutil

from relgrad.kernels import unit as unit
from relgrad.kernels import unit_pullback as unit_pullback
from relgrad.ops.averages import *
from relgrad.ops.deviation import *
from relgrad.ops.differences import *
from relgrad.ops.exponential import *
from relgrad.ops.families import *
from relgrad.ops.moments import *
from relgrad.ops.remainders import *
from relgrad.ops.roots import *
from relgrad.ops.softmax import *
from relgrad.ops.special import *
from relgrad.ops.stable import *

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
