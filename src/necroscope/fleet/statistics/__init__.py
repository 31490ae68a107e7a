"""The numbers behind the questions: exact tests on hosts, ratios of rates, trends of many hosts at once."""
