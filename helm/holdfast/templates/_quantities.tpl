{{/* Durations, sizes, and what follows from them. */}}

{{/* A duration of the configuration (`500ms`, `30s`, `5m`, `1h`) in whole seconds, rounded up. */}}
{{- define "holdfast.seconds" -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- if eq $unit "ms" -}}{{ div (add $number 999) 1000 }}
{{- else -}}{{ mul $number (get (dict "s" 1 "m" 60 "h" 3600) $unit) }}
{{- end -}}
{{- end -}}

{{/* A size of the configuration (`1GiB`) in MiB, rounded up. */}}
{{- define "holdfast.mebibytes" -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- $bytes := get (dict "B" 1 "KiB" 1024 "MiB" 1048576 "GiB" 1073741824) (regexFind "[A-Za-z]+$" .) -}}
{{- div (add (mul $number $bytes) 1048575) 1048576 -}}
{{- end -}}

{{/* A quantity of Kubernetes (`3Gi`, `2500M`, a number of bytes) in MiB, rounded down. */}}
{{- define "holdfast.quantity" -}}
{{- $text := kindIs "string" . | ternary (toString .) (printf "%d" (int64 .)) -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- $bytes := get (dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000
    "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776) $unit -}}
{{- divf (mulf (regexFind "^[0-9.]+" $text | float64) $bytes) 1048576 | floor | int64 -}}
{{- end -}}

{{/* MiB at which the server begins to close what sends without a call: memory_budget and 512 MiB. */}}
{{- define "holdfast.heldMemory" -}}
{{- add (include "holdfast.mebibytes" .Values.config.limits.memory_budget | int64) 512 -}}
{{- end -}}

{{/* The server's resources, with the memory that was not named. */}}
{{- define "holdfast.resources" -}}
{{- $held := include "holdfast.heldMemory" . | int64 -}}
{{- $own := dict "requests" (dict "memory" (printf "%dMi" $held))
    "limits" (dict "memory" (printf "%dMi" (mul 2 $held))) -}}
{{- toYaml (mergeOverwrite $own (deepCopy .Values.resources)) -}}
{{- end -}}

{{/* Seconds of the sleep before the stop; 0 where Kubernetes has no sleep action. */}}
{{- define "holdfast.preStop" -}}
{{- semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version
    | ternary (int64 .Values.preStopSeconds) 0 -}}
{{- end -}}

{{/* The sleep, the drain, and 10 s for the store and the log. */}}
{{- define "holdfast.gracePeriod" -}}
{{- $drain := include "holdfast.seconds" .Values.config.server.drain_timeout | int64 -}}
{{- add (include "holdfast.preStop" .) $drain 10 -}}
{{- end -}}

{{- define "holdfast.replicas" -}}
{{- if kindIs "invalid" .Values.replicas -}}
{{- ternary 2 1 (eq .Values.store.kind "postgres") -}}
{{- else -}}
{{- int64 .Values.replicas -}}
{{- end -}}
{{- end -}}

{{/* The most servers at once: the autoscaler's most or the replicas, and the surge of a rollout. */}}
{{- define "holdfast.mostServers" -}}
{{- $replicas := include "holdfast.replicas" . | int64 -}}
{{- add 1 (ternary (int64 .Values.autoscaling.maxReplicas) $replicas .Values.autoscaling.enabled) -}}
{{- end -}}
