"""What stands below an image's own sources: layers that change rarely, each cached by its key.

`images/NAME/layers` lists them, one a line, lowest first: a kind and, for most, an argument:

    base FOLDER      Debian, bootstrapped as images/FOLDER/base.yaml says
    scratch          nothing but a user
    wheel PACKAGE    one package of images/NAME/requirements.lock
    python           the other packages of images/NAME/requirements.lock
    binary NAME      one static program that deploy.cluster builds from deploy/cluster/NAME
    trained FOLDER FILE OTHER…
                     the FILE that the module `train` of the package in FOLDER writes; the package
                     imports OTHER files, too
    made FOLDER RESULT OTHER…
                     the folder RESULT that `python -m` the package in FOLDER writes; the package
                     imports OTHER files, too
    compiled FOLDER FILE
                     the extension module FILE that `python -m` the package in FOLDER compiles
"""
