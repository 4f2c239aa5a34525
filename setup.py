"""What the wheel holds: one package, evenbench, with all that runs need, and no other name in site-packages."""

from setuptools import find_packages, setup

CODE = find_packages(include=["runner*", "workloads*"])
DATA = ("docker", "studies")          # stacks and studies, as files

setup(
    packages=["evenbench", *(f"evenbench.{name}" for name in (*CODE, *DATA))],
    package_dir={"evenbench": "package", **{f"evenbench.{name}": name.replace(".", "/") for name in (*CODE, *DATA)}},
    package_data={"evenbench.runner": ["datasets/digits.csv.gz", "report/writers/*.html", "report/writers/*.css"],
                  "evenbench.docker": ["**/*"], "evenbench.studies": ["*.toml"]},
)
