"""Measure every implementation of attention here, against one another and against the machine.

``python -m chapter3_helpers.benchmarks`` runs it; ``--help`` lists the options.

============  ====================================================================
file          what it holds
============  ====================================================================
``variants``  the implementations, made equal by ``copy_weights``
``measure``   time, memory and growth, measured in turn so that noise strikes all
``report``    the table, the JSON file and the plot
============  ====================================================================

Taught in ``12_performance``.
"""
