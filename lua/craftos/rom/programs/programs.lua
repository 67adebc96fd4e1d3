-- programs [all]
textutils.pagedTabulate(shell.programs((...) == "all"))
