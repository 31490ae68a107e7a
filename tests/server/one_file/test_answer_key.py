from __future__ import annotations

from necroscope.server.one_file.answer_key import culprit_key, flame_key, scope_key
from necroscope.server.questions.selection import Filters, Range, Tree

SPAN = Range("h", 35_000_000, 40_000_000)
SOME = Filters(cpus=(11, 2), processes=("b", "a"))
SEARCHED = Filters(cpus=(11, 2), search="x", regexp=True)


def test_keys_are_those_of_the_page() -> None:
    """The same texts stand in web/test/embedded.test.ts."""
    assert culprit_key(SPAN, SOME) == '["culprit",35000000,40000000,[2,11]]'
    assert scope_key(SPAN, SOME, 50) == ('["scope",35000000,40000000,[2,11],["a","b"],[],[],false,null,50]')
    assert scope_key(SPAN, SEARCHED, 50).endswith('["x",true,false],50]')
    assert flame_key(SPAN, SEARCHED, Tree(against="quiet")).endswith(',false,null,"comm",false,"quiet"]')
    only = Filters(search="x", regexp=True, only_matching=True)
    assert flame_key(SPAN, only, Tree()).endswith(',["x",true,true],"comm",false,""]')
