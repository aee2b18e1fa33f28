{{/* One sidecar container: (its values, what it collects, the folder it fills, its volume, where that is mounted, root) */}}
{{- define "grafana.sidecar" -}}
{{- $sidecar := index . 0 -}}{{- $what := index . 1 -}}{{- $folder := index . 2 -}}
{{- $volume := index . 3 -}}{{- $mount := index . 4 -}}{{- $root := index . 5 -}}
- name: {{ $root.Values.grafana.nameOverride | default "grafana" }}-sc-{{ $what }}
  image: {{ include "kps.image" (list $root.Values.grafana.sidecar.image $root) }}
  imagePullPolicy: IfNotPresent
  env:
    - name: METHOD
      value: {{ $sidecar.watchMethod }}
    - name: LABEL
      value: {{ tpl $sidecar.label $root | quote }}
    {{- with $sidecar.labelValue }}
    - name: LABEL_VALUE
      value: {{ tpl . $root | quote }}
    {{- end }}
    - name: FOLDER
      value: {{ $folder | quote }}
    - name: RESOURCE
      value: {{ $sidecar.resource | quote }}
    {{- with $sidecar.searchNamespace }}
    - name: NAMESPACE
      value: {{ tpl (join "," .) $root | quote }}
    {{- end }}
    {{- with $sidecar.folderAnnotation }}
    - name: FOLDER_ANNOTATION
      value: {{ . | quote }}
    {{- end }}
    - name: REQ_USERNAME
      valueFrom:
        secretKeyRef:
          name: {{ include "grafana.adminSecret" $root }}
          key: {{ $root.Values.grafana.admin.userKey }}
    - name: REQ_PASSWORD
      valueFrom:
        secretKeyRef:
          name: {{ include "grafana.adminSecret" $root }}
          key: {{ $root.Values.grafana.admin.passwordKey }}
    - name: REQ_URL
      value: {{ $sidecar.reloadURL }}
    - name: REQ_METHOD
      value: POST
  volumeMounts:
    - name: {{ $volume }}
      mountPath: {{ $mount | quote }}
{{- end -}}
