"""The methods of statistics, each once.

What works on arrays of thousands of hosts (graded_hosts, poisson_binomial, rate_ratios, ratio_of_ratios,
theil_sen_many) needs numpy, which nodes do not have; the others do without.
"""
