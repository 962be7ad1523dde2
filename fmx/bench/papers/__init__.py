"""The figures and tables of the five papers, beside what fmx bench measures (fmx bench papers).

facts.tsv       what the papers say: a number a line
figures.toml    every figure and table: what it is made of here, and why that differs; or why it is not made
facts.py        reads both; tables to look values up in
fm_index.py     {figure: {what a fact is of: what gives the measured value}} of three papers
page.py         of the other two, and the page
"""
