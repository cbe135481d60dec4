#!/usr/bin/env python3
"""Writes ../data/chat/oracle.json: templates (the expressions of expressions.txt and those below), variables
and what Jinja2 makes of them, in the environment that transformers sets up for chat templates. `expected` null
means that Jinja2 raises an error."""
import itertools
import json
import os
import sys
from datetime import datetime

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """The `generation` tag: a call block that adds nothing."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_support")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _support(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "chat")
CLOCK = datetime(2024, 7, 3, 15, 4, 9)

env = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = lambda form: CLOCK.strftime(form)

VARIABLES = {
    "s": "Hello World", "u": "h\u00e9llo \u4e16\u754c \U0001f600", "sp": "  a b\tc \n", "e": "", "n": 5, "f": 2.5, "z": 0,
    "neg": -7, "t": True, "no": False, "nil": None, "big": 1e22, "small": 0.00001, "third": 1 / 3,
    "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "el": [], "nested": [[1, 2], [3, [4, "x"]]],
    "d": {"b": 1, "a": 2, "items": "own", "C": None}, "ed": {},
    "users": [{"name": "Bo", "age": 30, "tags": ["x"]}, {"name": "al", "age": 25}, {"name": "Cy", "age": 30, "tags": []}],
    "q": "it's \"q\" \\ <b>&\n", "m": "a,b,,c", "num": " 42 ", "hex": "0x1f", "fl": "3.7e2", "lines": "one\ntwo\r\n\nthree\n",
}

STATEMENTS = [
    "{% for x in l %}{{ x }},{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [1, 1, 2, 2] %}{{ loop.changed(x) }}{% endfor %}",
    "{% for x in el %}x{% else %}none{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}:{{ x }} {% else %}none{% endfor %}",
    "{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d|items %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }};{% endfor %}",
    "{% for (a, b) in [[1, 2], [3, 4]] %}{{ a }}{{ b }}{% endfor %}",
    "{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [[1, 2, 3]] %}{% endfor %}",
    "{% for c in 'h\u00e9' %}[{{ c }}]{% endfor %}",
    "{% for x in missing %}{{ x }}{% else %}e{% endfor %}",
    "{% for x in n %}{% endfor %}",
    "{% for x in nil %}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% for y in l %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{{ loop.index }}{% endfor %}",
    "{% break %}",
    "{% for x in l %}{% set y = x %}{% endfor %}{{ y }}",
    "{% set y = 0 %}{% for x in l %}{{ y }}{% set y = x %}{{ y }} {% endfor %}{{ y }}",
    "{% set ns = namespace(c=0) %}{% for x in l %}{% set ns.c = ns.c + x %}{% endfor %}{{ ns.c }}",
    "{% set ns = namespace() %}{% set ns.x = 1 %}{{ ns.x }}{{ ns }}",
    "{% set ns = namespace({'a': 1}, b='q') %}{{ ns.a }}{{ ns['b'] }}{{ ns }}",
    "{% set d.x = 1 %}",
    "{% set nosuch.x = 1 %}",
    "{% if t %}{% set y = 1 %}{% endif %}{{ y }}",
    "{% if no %}a{% elif n == 5 %}b{% else %}c{% endif %}",
    "{% if no %}a{% elif no %}b{% else %}c{% endif %}",
    "{% if no %}a{% endif %}",
    "{% if el %}a{% elif ed %}b{% elif e %}c{% elif z %}d{% elif nil %}e{% elif missing %}f{% endif %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a = 1, 2 %}{{ a }}",
    "{% set a %}x{{ n }}y{% endset %}{{ a|length }}{{ a }}",
    "{% set a | upper %}x{{ n }}y{% endset %}{{ a }}",
    "{% set a | upper | replace('X', 'z') %}x{{ n }}y{% endset %}{{ a }}",
    "{% set a %}{% set b = 5 %}{% endset %}{{ b }}",
    "{% set true = 1 %}",
    "{% set messages = [1] %}{{ messages }}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }};{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=5, a=4) }}{{ m() }}",
    "{% macro m(a, b=a) %}{{ a }}-{{ b }};{% endmacro %}{{ m(1) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(x=2) }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
    "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
    "{% macro m() %}{% set x = 5 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}body{{ n }}{% endcall %}",
    "{% macro m() %}[{{ caller(1, 2) }}]{% endmacro %}{% call(a, b) m() %}{{ a }}+{{ b }}{% endcall %}",
    "{% macro m() %}{% if caller %}c{% else %}n{% endif %}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m('a') ~ m('b') }}{{ m('c')|upper }}",
    "{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% filter upper %}abc{{ s }}{% endfilter %}",
    "{% filter replace('a', 'b') | upper %}abc{% endfilter %}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a }}",
    "{% with n = 6, m2 = n %}{{ n }}{{ m2 }}{% endwith %}",
    "{% generation %}x{{ n }}{% endgeneration %}",
    "{% for x in l %}{% generation %}{{ x }}{{ loop.index }}{% endgeneration %}{% endfor %}",
    "{% raw %}{{ x }}{% if %}{% endraw %}",
    "a {%- raw -%} {{ x }} {%- endraw -%} b",
    "a\n  {% raw %}\n  x\n  {% endraw %}\nb",
    "{# c #}a{# {{ x }} #}b",
    "a {#- c -#} b",
    "  {# c #}\n  b",
    "a\n   {#+ c +#}   \nb",
    "{{ '{{' }}{{ '}}' }}{{ '{%' }}",
    "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{{- 'x' -}}  y",
    "a  {{- 'x' -}}  y",
    "a\n\n{{- 'x' -}}\n\ny",
    "line\n",
    "line\n\n",
    "\n\nline",
    "{{ n }}\n",
    "{{ n }}\n\n",
    "{% if t %}\n",
    "{% if t %}x",
    "{% endif %}",
    "{% nosuch %}",
    "{{ }}",
    "{{ 1",
    "{% if %}x{% endif %}",
    "{{ 'abc }}",
    "{{ (1 }}",
    "{{ 1) }}",
    "{{ a b }}",
    "{{ a..b }}",
    "{{ [1, }}",
    "{{ f(a=1, 2) }}",
    "{{ 1 is odd is even }}",
    "{% for %}{% endfor %}",
    "{% for x %}{% endfor %}",
    "{% set %}",
    "{% macro %}{% endmacro %}",
    "{# open",
    "{% raw %}open",
    "a { b } c {a} %} }} #}",
    "{{ x if x is defined else 'u' }}",
    "{% for m in users %}{% if not loop.first %}, {% endif %}{{ m['name'] }}{% endfor %}",
    "{% for m in users %}{{ m.tags|default([])|join('/') }};{% endfor %}",
    "{% for g in users|groupby('age') %}{{ g.grouper }}:{{ g.list|length }} {% endfor %}",
    "{% for a, b in users|groupby('age') %}{{ a }}:{{ b|map(attribute='name')|join(',') }} {% endfor %}",
    "{% set g = l|map('string') %}{{ g|list }}{{ g|list }}",
    "{% set g = l|select %}{{ g|first }}{{ g|list }}",
    "{% for x in l|map('string') %}{{ loop.length }}{{ loop.last }}{% endfor %}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}",
    "{% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}",
    "{%- for x in l -%}\n  {{ x }}\n{%- endfor -%}\n",
    "{% for x in l %}\n  {{ x }}\n{% endfor %}\nend",
    "{% for x in l -%}\n  {{ x }}\n{%- endfor %}\nend",
    "  {% if t %}\n  yes\n  {% endif %}\nend",
    "  {%+ if t %}\n  yes\n  {%+ endif %}\nend",
    "  {% if t +%}\n  yes\n  {% endif +%}\nend",
    "x  {% if t %}y{% endif %}  z",
    "x\t{% if t %}\ty\n\t{% endif %}z",
    "x\r\n  {% if t %}\r\n  y\r\n  {% endif %}\r\nz\r\n",
    "x\r{% if t %}\ry{% endif %}",
    "{{ 1 }}\n  {% if t %}a{% endif %}",
    "{% if t %}\n  {% if t %}\n    a\n  {% endif %}\n{% endif %}\n",
    "\u3000{% if t %}a{% endif %}",
    "{{ u }}{# \u4e16 #}\u754c",
    "{% set x = 'a' %}{% set x = x ~ 'b' %}{{ x }}",
    "{% set loop_messages = users[1:] %}{{ loop_messages|length }}",
    "{% if users[0].name == 'Bo' and users[0].tags is defined %}ok{% endif %}",
    "{% set x = users | selectattr('name', 'equalto', 'Bo') | list %}{{ x[-1].age }}{{ users[0] == x[-1] }}",
    "{%if t%}a{%endif%}{{n}}{%-if t-%} b {%-endif-%}",
    "{% for i in range(3) %}{% for j in range(i) %}{{ i }}{{ j }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% macro m(a, b=2, c=3) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}{% endmacro %}"
    "{{ m(*l) }}{{ m(*ls) }}{{ m(1, *[2]) }}{{ m(*[], a=4) }}{{ m(1, c=5, *[6]) }}{{ m(**{'a': 1, 'x': 2}) }}{{ m(0, *'yz', **d) }}",
    "{{ f(*n) }}",
    "{{ range(*[1, 7], **{}) | list }}{{ dict(a=1, **d) }}{{ namespace(**{'q': 1}).q }}",
    "{{ dict(b=1, **d) }}",
    "{{ dict(**n) }}",
    "{{ dict(**{1: 2}) }}",
    "{{ range(*l, 3) }}",
    "{{ dict(**d, a=1) }}",
    "{{ s.replace(*['l', 'L']) }}{{ s | replace(*['o', '0']) }}{{ n is divisibleby(*[5]) }}",
    "{{ [none, none] | sort }}{{ [missing, missing] | sort | length }}{{ [[1, none], [0, none]] | sort }}",
    "{{ [none, 1] | sort }}",
    "{{ loop }}",
    "{% for x in loop %}{% endfor %}",
]


def whitespace_cases():
    """Every pair of signs around a block, a variable and a comment, with blanks and line ends about."""
    for sign, end in itertools.product(["", "-", "+"], repeat=2):
        for before, after in itertools.product(["", " ", "\n", "x \n ", "\n\n  "], ["", "  ", "\n", " \n", "\n  \n"]):
            yield f"a{before}{{%{sign} if t {end}%}}{after}b{before}{{%{end} endif {sign}%}}{after}c"
    for sign, end in itertools.product(["", "-", "+"], ["", "-"]):
        for before, after in itertools.product([" ", "\n ", ""], [" ", "\n", "\n\n "]):
            yield f"a{before}{{{{{sign} n {end}}}}}{after}b"
    for sign, end in itertools.product(["", "-", "+"], repeat=2):
        for before, after in itertools.product([" ", "\n "], [" ", "\n"]):
            yield f"a{before}{{#{sign} n {end}#}}{after}b"
            yield f"a{before}{{%{sign} raw %}}{after}b{before}{{%{sign} endraw {end}%}}{after}c"


def main():
    with open(os.path.join(DATA, "expressions.txt"), encoding="utf-8") as f:
        templates = ["{{ " + line.rstrip("\n") + " }}" for line in f]
    templates += STATEMENTS + list(whitespace_cases())
    cases = []
    for template in dict.fromkeys(templates):
        try:
            expected = env.from_string(template).render(**VARIABLES)
        except Exception:  # any error of Jinja2 or of Python is an error for us
            expected = None
        if expected is not None and (" at 0x" in expected or "<built-in" in expected or "<class" in expected):
            expected = None  # the address of an object: ours refuses to print it
        cases.append([template, expected])
    with open(os.path.join(DATA, "oracle.json"), "w", encoding="utf-8") as f:
        json.dump({"jinja2": jinja2.__version__, "variables": VARIABLES, "cases": cases}, f, ensure_ascii=False, indent=0)
    errors = sum(expected is None for _, expected in cases)
    print(f"{len(cases)} cases, {errors} of them errors", file=sys.stderr)


if __name__ == "__main__":
    main()
