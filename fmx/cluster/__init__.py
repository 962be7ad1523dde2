"""Jobs on the machines of a Dask cluster."""
