"""Measure every implementation of attention here, against one another and against the machine.

``python -m chapter3_helpers.benchmarks`` runs it; ``--help`` lists the options. Taught in
``13_performance``.

``machine``     how time, memory and a machine's two limits are measured
``variants``    the implementations, made equal by ``copy_weights``
``measure``     every variant's time and memory
``real_model``  how fast the model of ``15_real_model`` writes
``report``      the tables
"""
