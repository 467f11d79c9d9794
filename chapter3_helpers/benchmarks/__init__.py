"""Measure every implementation of attention here, against one another and against the machine.

``python -m chapter3_helpers.benchmarks`` runs it; ``--help`` lists the options. Taught in
``13_performance``.

==============  ==================================================================
file            what it holds
==============  ==================================================================
``machine``     how time, memory and a machine's two limits are measured
``variants``    the implementations, made equal by ``copy_weights``
``measure``     every variant's time and memory, and what one more token costs
``real_model``  how fast the model of ``15_real_model`` writes
``report``      the tables, the JSON file and the plot
==============  ==================================================================
"""
