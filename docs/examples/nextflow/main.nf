params.index = 'ref.fmx'
params.reads = '*.fq.gz'

process SEARCH {
    cpus 8
    memory '4 GB'

    input:
    path index
    path reads

    output:
    path '*.bam*'
    path '*_mqc.json'

    script:
    """
    fmx search -q -x ${index} ${reads} -t ${task.cpus} --sort -o ${reads.simpleName}.bam --report ${reads.simpleName}_mqc.json
    """
}

workflow {
    SEARCH(file(params.index), Channel.fromPath(params.reads))
}
